"""The code locations of this process that can emit events, each with a number that records carry.

Invariant: a site keeps its number for the life of the process, forked children included; numbers start at 1. There is no
lock: numbers come from an atomic counter, and an interrupt can at worst leave one unused.
"""

from __future__ import annotations

import itertools
import json
import os

from clew.instrument.recorder.lifecycle import at_start
from clew.instrument.recorder.select import core
from clew.records.event import Kind, SiteInfo

_sites: dict[int, SiteInfo] = {}
_next = itertools.count(1)
_early: list[tuple[str, int]] = []
_MOST_EARLY = 100
"""Of a process whose recording never begins."""


def register(  # noqa: PLR0917  # the fields of SiteInfo, in its order
    module: str, qualname: str, file: str, line: int, end_line: int, kind: str, rule: int = -1,
    state: tuple[int, int] = (0, 0),
) -> int:  # fmt: skip
    """The number of a new site; defined in the trace when one is being written. Fields as in `SiteInfo`; `state` is the
    file's, see `state_of`."""
    site = SiteInfo(next(_next), module, qualname, file, line, end_line, kind, rule, *state)
    _sites[site.id] = site
    if core.active():
        _define(site)
    return site.id


def state_of(file: str) -> tuple[int, int]:
    """When a file was changed last (ns since 1970) and its size, by which its text can be told from a later one; zeros when
    it is not there."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


def all_sites() -> list[SiteInfo]:
    return list(_sites.values())


def define_all() -> None:
    """Writes every site to a trace that has just begun."""
    for site in all_sites():
        _define(site)
    while _early:
        _write_note(*_early.pop(0))


def note(text: str, site: int = 0) -> None:
    """Leaves a sentence for the user in the trace: something, at `site` if not 0, was not recorded as asked.

    Before recording begins, in the trace that begins next.
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
