"""One line of a diagnosis. Invariant: a check returns its failure as a finding and never raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

Status = Literal["ok", "note", "problem"]
"""`note`: something is slower or missing. `problem`: recording cannot work."""


class Finding(NamedTuple):
    """The value of one thing that was checked, and what to do about it."""

    name: str
    value: str
    status: Status = "ok"
    advice: str = ""


class Section(NamedTuple):
    """Findings about one subject."""

    name: str
    findings: list[Finding]


def section(name: str, *checks: Callable[[], Iterable[Finding]]) -> Section:
    """Run the checks of one subject."""
    return Section(name, [finding for check in checks for finding in _safely(check)])


def _safely(check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:
        yield Finding(check.__name__.strip("_").replace("_", " "), f"{type(error).__name__}: {error}", "note")
