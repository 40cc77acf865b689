"""Number the code locations (sites) of this process that can emit events; records contain these numbers.

Invariant: a site keeps its number for the lifetime of the process, including forked children; numbers start at 1.
This needs no lock because numbers come from an atomic counter. An interrupt can leave a number unused at worst.
"""

from __future__ import annotations

import itertools
import json
import os

from clew.instrument.recorder.core import core
from clew.instrument.recorder.lifecycle import at_start
from clew.records.format.event import Kind, SiteInfo

_sites: dict[int, SiteInfo] = {}
_next = itertools.count(1)
_early: list[tuple[str, int]] = []
_MOST_EARLY = 100
"""Maximum number of notes held before recording begins, which may never happen."""


def register(  # noqa: PLR0917  # the fields of SiteInfo, in its order
    module: str, qualname: str, file: str, line: int, end_line: int, kind: str, rule: int = -1,
    state: tuple[int, int] = (0, 0),
) -> int:  # fmt: skip
    """Register a new site and return its number; an active recording defines the site in its trace.

    The fields are those of `SiteInfo`; `state` is the file's state, see `state_of`.
    """
    site = SiteInfo(next(_next), module, qualname, file, line, end_line, kind, rule, *state)
    _sites[site.id] = site
    if core.active():
        _define(site)
    return site.id


def state_of(file: str) -> tuple[int, int]:
    """Return the time of a file's last change (ns since 1970) and its size, or zeros if the file is missing.

    The two numbers distinguish the file's text from later versions.
    """
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


def all_sites() -> list[SiteInfo]:
    return list(_sites.values())


def define_all() -> None:
    """Write every site to a trace that has just begun."""
    for site in all_sites():
        _define(site)
    while _early:
        _write_note(*_early.pop(0))


def note(text: str, site: int = 0) -> None:
    """Write a sentence for the user to the trace: something, at `site` if not 0, was not recorded as requested.

    Before recording begins, the note is saved for the next trace.
    """
    if core.active():
        _write_note(text, site)
    elif len(_early) < _MOST_EARLY:
        _early.append((text, site))


def _write_note(text: str, site: int) -> None:
    core.define(Kind.NOTE, site, text.encode("utf-8", "replace"))


def _define(site: SiteInfo) -> None:
    text = json.dumps(site._asdict(), ensure_ascii=False, separators=(",", ":"))
    core.define(Kind.SITE, site.id, text.encode("utf-8", "surrogatepass"))


at_start(define_all)
