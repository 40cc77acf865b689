"""The table of a run's messages as a file of its store, so that the largest runs are asked at once when they are opened again.

Invariant: it is used only with the very tables that it was made of, and only when its bytes have the checksums they were
written with; it goes with the store.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.logs.templates import TemplateIndex
from clew.graph.tables import sums_of

if TYPE_CHECKING:
    from clew.graph.logs.messages import Messages
    from clew.graph.stored import StoredTables

FILE = "messages.bin"
FORMAT = 1
WORTH_KEEPING = 200_000
"""Messages; the table of fewer is made in a moment."""
_ARRAYS = {
    "hashes": np.uint64, "ts": np.int64, "rows": np.int64,
    "by_time": np.int32, "by_hash": np.int32, "site": np.uint32, "level": np.int32,
}  # fmt: skip
"""The wider ones first, so that each begins where its type wants it."""


def keep(tables: StoredTables, messages: Messages) -> None:
    """Writes it beside its place and renames it; where that is not possible it is made again the next time."""
    arrays = {name: np.ascontiguousarray(getattr(messages, name)) for name in _ARRAYS}
    about = {
        "format": FORMAT,
        "of": tables.identity,
        "started": messages.started,
        "length": len(messages),
        "sums": {name: sums_of(array) for name, array in arrays.items()},
        "templates": list(messages.index.templates),
        "beginnings": messages.beginnings,
    }
    text = json.dumps(about).encode()
    head = json.dumps([len(text), sums_of(text)]).encode() + b"\n"
    path = ""
    with contextlib.suppress(OSError):
        try:
            descriptor, path = tempfile.mkstemp(prefix=f".{FILE}-", dir=tables.folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(head + text)
                file.write(b"\0" * (-file.tell() % 8))
                for array in arrays.values():
                    file.write(array.data)
            Path(path).replace(tables.folder / FILE)
        except BaseException:
            if path:
                Path(path).unlink(missing_ok=True)
            raise


def kept(tables: StoredTables) -> dict[str, Any] | None:
    """The fields of the `Messages` that were kept, arrays mapped into memory; None when there are none of these tables."""
    path = tables.folder / FILE
    try:
        with path.open("rb") as file:
            length, expected = json.loads(file.readline(1000))
            text = file.read(length)
            begin = file.tell()
        if sums_of(text) != expected:
            return None
        about = json.loads(text)
        if about["format"] != FORMAT or about["of"] != tables.identity:
            return None
        begin += -begin % 8
        arrays: dict[str, Any] = {}
        for name, dtype in _ARRAYS.items():
            array = np.asarray(np.memmap(path, dtype, "r", begin, (about["length"],)))
            if sums_of(array) != about["sums"][name]:
                return None
            arrays[name] = array
            begin += array.nbytes
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it is made anew
    return {
        **arrays,
        "started": about["started"],
        "index": TemplateIndex(about["templates"]),
        "beginnings": tuple((value, slots) for value, slots in about["beginnings"]),
    }
