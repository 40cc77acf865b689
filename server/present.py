"""Where recorded lines stand in the text that the user sees now, and the other way round: the one way for all features.

With the text that ran (`clew.records.sources`) lines are mapped by what both texts have in common. Without it only functions
are found, by their qualified names. Invariant: a line is never placed at another one's: what was changed or removed since, and
whatever cannot be known, is "stale".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from clew.records import sources
from clew.records.errors import RunError
from clew.records.match import plain_qualname
from clew.records.moved import moved
from clew.records.run import load_run
from clew.server.files import same_file_key
from clew.server.line_map import LineMap, line_map, lines_of
from clew.server.outline import Definition, Outline, current, outline

if TYPE_CHECKING:
    from clew.server.session import Session

State = Literal["exact", "moved", "stale"]


class Present(NamedTuple):
    """A place in the text of now."""

    line: int
    """From 1; of what is stale, where it was, or would be."""
    state: State


class PresentFunction(NamedTuple):
    line: int
    """Of its `def`."""
    state: State
    definition: Definition | None
    """None when it is stale."""


def present_line(session: Session, folder: Path, path: str, line: int) -> Present:
    """Where a line of a file, as the run in `folder` recorded it, stands now."""
    return places(session, folder, path).line(line)


def recorded_line(session: Session, folder: Path, path: str, line: int) -> Present:
    """Where a line of the present text stood in what the run recorded."""
    return places(session, folder, path).recorded_line(line)


def places(session: Session, folder: Path, path: str, text: str | None = None) -> Places:
    """All places of one file; `text` is the present one, without it as the user sees it."""
    source = _index(folder, _changed(folder)).get(same_file_key(path))
    recorded = _text(folder, source) if source is not None else None
    return Places(
        path,
        recorded if source is not None and source.certain else None,
        session.text(path) if text is None else text,
        "" if source is None else source.why,
    )


@dataclass(frozen=True)
class Places:
    path: str
    recorded: str | None
    """The text that ran, if that is certain."""
    text: str | None
    """The present one; None for a file that cannot be read."""
    why: str = ""
    """Why it is not certain which text ran."""

    @cached_property
    def _map(self) -> LineMap | None:
        return line_map(self.recorded, self.text) if self.recorded is not None and self.text is not None else None

    @cached_property
    def now(self) -> Outline | None:
        return outline(self.text) if self.text is not None else None

    @cached_property
    def _now_at(self) -> dict[int, list[Definition]]:
        """By the line of the `def`."""
        found: dict[int, list[Definition]] = {}
        for named in (self.now or {}).values():
            for one in named:
                found.setdefault(one.line, []).append(one)
        return found

    @property
    def differs(self) -> bool:
        """Is the present text known to be another one than the one that ran?"""
        return self.recorded is not None and (self.text is None or lines_of(self.recorded) != lines_of(self.text))

    def as_recorded(self) -> tuple[str | None, str]:
        """The text in which recorded lines are where they were recorded, and what there is to say of it, if anything."""
        if self.differs:
            return self.recorded, "The file has changed since the run; this is the text that ran."
        return self.text, self.sentence("stale") if self.text is None or self.why else ""

    def line(self, line: int) -> Present:
        if self._map is None:
            return Present(self._within(line), "stale")
        found = self._map.new(line)
        return _present(found, line) if found else Present(self._map.near_new(line), "stale")

    def recorded_line(self, line: int) -> Present:
        found = self._map.old(line) if self._map is not None else 0
        return _present(found, line) if found else Present(line, "stale")

    def function(self, qualname: str, first_line: int) -> PresentFunction:
        """Where a function stands now whose code began at `first_line` (of its first decorator, else of its `def`)."""
        found = self._by_text(qualname, first_line) if self._map is not None else self._by_name(qualname, first_line)
        if found is None:
            return PresentFunction(self.line(self._before(qualname, first_line).line).line, "stale", None)
        return PresentFunction(found.line, "exact" if found.first_line == first_line else "moved", found)

    def sentence(self, state: State) -> str:
        """For the user, about a place that is stale; "" for any other."""
        if state != "stale":
            return ""
        if self.text is None:
            return f"{self.path} cannot be read; was it moved since it was recorded?"
        if self.recorded is not None:
            return "This was changed or removed since it was recorded."
        why = f": {self.why}" if self.why else ""
        return f"It is not known which text of this file ran{why}."

    def _by_text(self, qualname: str, first_line: int) -> Definition | None:
        assert self._map is not None and self.recorded is not None
        before = self._before(qualname, first_line)
        line = self._map.new(before.line)
        if self.now is None:
            # In the middle of an edit, whose other lines tell all the same.
            first, last = self._map.new(first_line), self._map.new(before.end_line)
            return before._replace(first_line=first or line, line=line, end_line=last or line) if line else None
        if line:
            here = self._now_at.get(line, [])
            named = [one for one in here if one.qualname == before.qualname]
            # Of several in one line (lambdas, say) it has to be clear which; a renamed class takes its methods along.
            return named[0] if len(named) == 1 else here[0] if len(here) == 1 else None
        found = self.now.get(before.qualname, [])
        alone = len((outline(self.recorded) or {}).get(before.qualname, ())) == len(found) == 1
        return found[0] if alone else None

    def _by_name(self, qualname: str, first_line: int) -> Definition | None:
        found = current(self.now, qualname, first_line)
        if found is None or self.now is None:
            return None
        alone = len(self.now[found.qualname]) == 1
        return found if alone or found.first_line == first_line else None

    def _before(self, qualname: str, first_line: int) -> Definition:
        """In the recorded text, as far as that is known."""
        name = plain_qualname(qualname)
        before = outline(self.recorded) if self.recorded is not None else None
        for one in (before or {}).get(name, ()):
            if one.first_line == first_line:
                return one
        return Definition(name, first_line, first_line, first_line)

    def _within(self, line: int) -> int:
        return max(1, min(line, len(lines_of(self.text)))) if self.text is not None else line


def _present(found: int, line: int) -> Present:
    return Present(found, "exact" if found == line else "moved")


def _changed(folder: Path) -> int:
    try:
        return (folder / sources.INDEX_FILE).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _index(folder: Path, _modified: int) -> Mapping[str, sources.Source]:
    try:
        place = moved(folder, load_run(folder))
    except RunError:
        place = None  # it was removed
    known = sources.index(folder).items()
    return {same_file_key(place(path) if place else path): source for path, source in known}


@lru_cache(maxsize=64)
def _text(folder: Path, source: sources.Source) -> str | None:
    return sources.text(folder, source)
