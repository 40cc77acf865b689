"""Write and read the files of a value trace."""

from __future__ import annotations

import json
import sys
from array import array
from dataclasses import astuple
from pathlib import Path
from typing import Any

from clew.records.errors import ClewError
from clew.records.values.trace_format import EVENTS, TABLES, VERSION, Code, Instruction, ObjectRow, Outcome, ValueTrace


class ValueTraceError(ClewError):
    """A value trace that cannot be read."""


def write_tables(folder: Path, trace: ValueTrace) -> None:
    """Write all but the events. Raises `OSError`."""
    tables: dict[str, Any] = {
        "version": VERSION,
        "python": list(trace.python),
        "opcodes": trace.opcodes,
        "cut": trace.cut,
        "seconds": trace.seconds,
        "threads": trace.threads,
        "outcome": astuple(trace.outcome),
        "codes": [astuple(code) for code in trace.codes],
        "objects": [[row.type, row.kind, row.text, row.extra] for row in trace.objects],
        "keys": trace.keys,
        "ends": {str(number): text for number, text in trace.ends.items()},
    }
    (folder / TABLES).write_text(json.dumps(tables, ensure_ascii=True, separators=(",", ":")), encoding="ascii")


def read_value_trace(folder: Path) -> ValueTrace:
    """Read a value trace. Raises `ValueTraceError`."""
    try:
        tables = json.loads((folder / TABLES).read_bytes())
        words = array("i")
        data = (folder / EVENTS).read_bytes()
        words.frombytes(data[: len(data) - len(data) % words.itemsize])
    except OSError as error:
        raise ValueTraceError(f"{folder}: the value trace cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ValueTraceError(f"{folder / TABLES}: the value trace is damaged ({error})") from None
    if sys.byteorder == "big":
        words.byteswap()
    if not isinstance(tables, dict) or tables.get("version") != VERSION:
        found = tables.get("version") if isinstance(tables, dict) else None
        raise ValueTraceError(f"{folder}: a value trace of version {found}, and this clew reads version {VERSION}")
    try:
        return _trace(tables, words)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueTraceError(f"{folder / TABLES}: the value trace is damaged ({error!r})") from None


def _trace(tables: dict[str, Any], words: array[int]) -> ValueTrace:
    codes = [
        Code(
            file,
            module,
            name,
            line,
            tuple(variables),
            parameters,
            flags,
            tuple(Instruction(*one) for one in instructions),
        )
        for file, module, name, line, variables, parameters, flags, instructions in tables["codes"]
    ]
    exception, kind, message, frames = tables["outcome"]
    return ValueTrace(
        events=memoryview(words),
        codes=codes,
        objects=[ObjectRow(*row) for row in tables["objects"]],
        keys=list(tables["keys"]),
        ends={int(number): text for number, text in tables["ends"].items()},
        threads=list(tables["threads"]),
        outcome=Outcome(exception, kind, message, tuple((file, line, name) for file, line, name in frames)),
        opcodes=tables["opcodes"],
        cut=tables["cut"],
        seconds=tables["seconds"],
        python=tuple(tables["python"]),
    )
