"""Places and rows in the sentences of diagnoses."""

from __future__ import annotations

import os
from typing import Any

from clew.graph.ops.diagnoses.words import own_frame, where
from clew.graph.ops.facts.facts import Fact, Facts, Waiting
from clew.records.format.event import Kind
from clew.records.format.facts import Frame


def place(facts: Facts, row: int, at: tuple[Frame, ...] = ()) -> str:
    """Return `transfer, bank.py:10` for a row, "" if its place was not recorded. `at` is the row's recorded stack."""
    graph = facts.graph
    site = graph.sites[graph.at("site", row)]
    if at and (site.kind in ("", "adapter") or own_frame(at, facts) != at[0]):
        return where(at, facts)
    found = site if site.file and not site.is_adapter else graph.sites[graph.function_site(row)]
    if not found.file or found.is_adapter:
        return where(at, facts)
    name = found.qualname.rpartition(".<locals>.")[2]
    return f"{name}, {os.path.basename(found.file)}:{found.line}"


def in_brackets(text: str) -> str:
    """Return ` (text)`, or "" for an empty text."""
    return f" ({text})" if text else ""


def fact_place(facts: Facts, fact: Fact[Any]) -> str:
    """Return the place of a fact."""
    return place(facts, fact.row, getattr(fact.text, "at", ()))


def line_of_wait(facts: Facts, wait: Waiting) -> tuple[str, int]:
    """Return the file and line of the program where a wait began, ("", 0) if they were not recorded."""
    site = facts.graph.sites[facts.graph.at("site", wait.begin.row)]
    if site.file and not site.is_adapter:
        return site.file, site.line
    frame = own_frame(wait.begin.text.at, facts)
    return (frame.file, frame.line) if frame else ("", 0)


def runs_callback(facts: Facts, row: int) -> bool:
    """Return whether an event loop ran the row as a callback, outside tasks."""
    graph = facts.graph
    opener = int(graph.regions.opener[graph.at("region", row)])
    return opener >= 0 and graph.at("kind", opener) == Kind.SCOPE_BEGIN and graph.channel(opener) == "asyncio.handle"
