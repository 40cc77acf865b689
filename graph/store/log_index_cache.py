"""Caches the table of a run's log messages as a file of its store, so that a large run answers at once when it is reopened.

Invariant: the cache is used only with the tables that it was made from, and it is removed with the store.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.logs.templates import TemplateIndex
from clew.graph.store.sidecar import Sidecar

if TYPE_CHECKING:
    from clew.graph.logs.message_index import Messages
    from clew.graph.store.lazy_graph import StoredTables

FILE = "messages.bin"
FORMAT = 2
WORTH_KEEPING = 200_000
"""The number of messages from which on the table is cached; a smaller table is computed quickly."""
_ARRAYS: dict[str, type[np.generic]] = {
    "hashes": np.uint64, "ts": np.int64, "rows": np.int64,
    "by_time": np.int32, "by_hash": np.int32, "site": np.uint32, "level": np.int32,
}  # fmt: skip


def _sidecar(tables: StoredTables) -> Sidecar:
    return Sidecar(tables.folder / FILE, FORMAT, tables.identity)


def save(tables: StoredTables, messages: Messages) -> None:
    """Write the table. If the disk refuses it, the old file stays."""
    about = {
        "started": messages.started,
        "templates": list(messages.index.templates),
        "beginnings": messages.beginnings,
    }
    with contextlib.suppress(OSError):
        _sidecar(tables).write(about, {name: getattr(messages, name) for name in _ARRAYS})


def load(tables: StoredTables) -> dict[str, Any] | None:
    """Return the fields of the cached `Messages`, with arrays mapped into memory; None when these tables have no cache."""
    found = _sidecar(tables).read(_ARRAYS.__getitem__)
    if found is None:
        return None
    return {
        **found.arrays,
        "started": found.about["started"],
        "index": TemplateIndex(found.about["templates"]),
        "beginnings": tuple((value, slots) for value, slots in found.about["beginnings"]),
    }
