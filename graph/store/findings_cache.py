"""Caches what the diagnoses found in a finished run as a file of its store, so that the next question is answered at once.

Invariant: the cache is used only with the tables that it was made from, by the same code, and for the same end of the run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clew.graph.ops
import clew.records.format
import clew.source
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.store.sidecar import Sidecar

if TYPE_CHECKING:
    from clew.graph.store.lazy_graph import StoredTables

FILE = "findings.json"
FORMAT = 1
WORTH_KEEPING = 50_000
"""The number of events from which on the findings are cached; those of a smaller run are computed quickly."""
_CODE = (clew.graph.ops, clew.records.format, clew.source)
"""The packages that findings depend on."""


def _sidecar(tables: StoredTables, last_ns: int) -> Sidecar:
    return Sidecar(tables.folder / FILE, FORMAT, [tables.identity, _code(), last_ns])


@cache
def _code() -> list[list[Any]]:
    """Return the name, size and modification time of each file of the code."""
    return [entry for package in _CODE for folder in package.__path__ for entry in _files(Path(folder))]


def _files(folder: Path) -> Iterator[list[Any]]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(Path(entry.path))
        elif entry.name.endswith(".py"):
            status = entry.stat()
            yield [entry.name, status.st_size, status.st_mtime_ns]


def save(tables: StoredTables, last_ns: int, findings: Sequence[Finding]) -> None:
    """Write the findings. If the disk refuses it, the old file stays. `last_ns` is the end of the run."""
    about = [
        [
            found.kind,
            int(found.reason),
            [[claim.text, [int(event) for event in claim.events]] for claim in found.claims],
            [[int(victim.strand), int(victim.first), int(victim.last)] for victim in found.victims],
            found.certainty,
            found.inferred_from,
        ]
        for found in findings
    ]
    with contextlib.suppress(OSError):
        _sidecar(tables, last_ns).write(about)


def load(tables: StoredTables, last_ns: int) -> list[Finding] | None:
    """Return the cached findings; None when these tables have no cache."""
    found = _sidecar(tables, last_ns).read()
    if found is None:
        return None
    return [
        Finding(
            kind,
            Reason(reason),
            tuple(Claim(text, tuple(events)) for text, events in claims),
            tuple(Victim(*victim) for victim in victims),
            certainty,
            basis,
        )
        for kind, reason, claims, victims, certainty, basis in found.about
    ]
