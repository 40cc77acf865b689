"""Sites of lines of the program, for facts: the line that waits, cancels, raises or writes.

The recorder's core walks the stack (`csrc/facts/stack.c`) and asks here, once per file, what the file belongs to, and once
per line for its site.
"""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

from clew.instrument.probes.select.module_names import module_name
from clew.instrument.probes.sites import register
from clew.instrument.recorder.core import core
from clew.records.plan.match import INSTALLED_PARTS

PROGRAM, LIBRARY, STANDARD_LIBRARY, CLEW, EVENT_LOOP = range(5)
_CLEW = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_CLEW_FOLDERS = tuple(_CLEW + name + os.sep for name in ("api", "instrument", "records", "source"))
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_LOOP_FILE = os.path.join("asyncio", "events.py")
_roots: tuple[str, ...] = ()


def install(roots: tuple[str, ...]) -> None:
    """Make the stack available to the recorder. Files below `roots` that belong to no installed package are the program."""
    global _roots
    _roots = tuple(root.rstrip(os.sep) + os.sep for root in roots)
    core.watch_stack(origin, site_of)


def origin(file: str) -> int:
    """Return what a source file belongs to."""
    if INSTALLED_PARTS.isdisjoint(file.split(os.sep)):
        if file.startswith(_CLEW_FOLDERS):
            return CLEW
        if file.startswith("<frozen"):
            return STANDARD_LIBRARY
        if file.startswith(_STANDARD_LIBRARY):
            return EVENT_LOOP if file.endswith(_LOOP_FILE) else STANDARD_LIBRARY
        if not _roots or os.path.abspath(file).startswith(_roots) or file.startswith("<"):
            return PROGRAM
    return CLEW if f"{os.sep}clew{os.sep}instrument{os.sep}" in file else LIBRARY


def site_of(code: CodeType, namespace: dict[str, Any], line: int) -> int:
    """Return a new site for a line of a function."""
    file = code.co_filename
    return register(module_name(namespace, file), code.co_qualname, file, line, line, "line")
