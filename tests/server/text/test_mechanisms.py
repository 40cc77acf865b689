"""The table of mechanisms has a row for every channel that the recorder writes, and the documents name each of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from clew.records.format.event import EdgeKind
from clew.server.text.mechanisms import MECHANISMS, UNNAMED, link_kind, mechanism

ROOT = Path(__file__).resolve().parents[3]
WRITERS = ("instrument/adapters", "instrument/recorder", "instrument/propagation")
IMPORTED = {"span.start", "span.end", "request", "response"}
"""Channels that importers of foreign traces write."""


def recorded() -> set[str]:
    """Return the channels that modules of the recorder name in their first docstring or pass to `intern`."""
    found: set[str] = set()
    for folder in WRITERS:
        for file in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            for listed in re.findall(r'Channels?: ((?:"[^"]+"[^".]*?)+)\.(?:\s|$)', ast.get_docstring(tree) or ""):
                found.update(re.findall(r'"([^"]+)"', listed))
            for node in ast.walk(tree):
                match node:
                    case (
                        ast.Call(func=ast.Name("intern"), args=[ast.Constant(str(name))])
                        | ast.Call(func=ast.Attribute(attr="intern"), args=[ast.Constant(str(name))])
                    ):
                        found.add(name)
    return found


def test_mechanisms_have_a_row_for_every_recorded_channel() -> None:
    found = recorded()
    assert {"lock", "asyncio.handle", "executor.callback", "process.end", "pipe", "traceparent"} <= found
    assert found - MECHANISMS.keys() == set()


def test_mechanisms_rows_are_all_for_written_channels() -> None:
    assert MECHANISMS.keys() - recorded() == IMPORTED


def test_documents_name_every_recorded_channel() -> None:
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("causality.md", "packs.md"))
    assert [name for name in sorted(recorded()) if f"`{name}`" not in text] == []


def test_mechanism_row_has_all_words_of_a_kind_or_no_words() -> None:
    for channel, row in MECHANISMS.items():
        assert bool(row.noun) == bool(row.given) == bool(row.taken), channel
        assert bool(row.source_title) == bool(row.target_title), channel


def test_mechanism_of_channel_without_a_row_is_unnamed() -> None:
    assert mechanism("chunk") is UNNAMED
    assert (link_kind("chunk"), link_kind(""), link_kind("asyncio.handle")) == ("chunk", "call", "task")


def test_mechanism_titles_apply_to_edges_of_its_kind_only() -> None:
    assert mechanism("lock", EdgeKind.USE) is UNNAMED
    assert mechanism("lock", EdgeKind.SYNC).source_title == "released a lock"
