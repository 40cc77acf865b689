"""Maps recorded lines to the user's present text and back; all features use this module.

With the text that ran (`clew.records.run.source_snapshots`), lines are mapped by the lines that both texts share.
Without it only functions are found, by their qualified names. Invariant: a line is never mapped to another line;
changed, removed and unknown lines are "stale".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from clew.records.errors import RunError
from clew.records.plan.match import plain_qualname
from clew.records.run import source_snapshots
from clew.records.run.directory import load_run
from clew.records.run.relocated_paths import moved
from clew.server.locations.definitions import Definition, Outline, current, outline
from clew.server.locations.paths import same_file_key
from clew.server.locations.text_diff import LineMap, line_map, lines_of

if TYPE_CHECKING:
    from clew.server.session.session import Session

State = Literal["exact", "moved", "stale"]


class Present(NamedTuple):
    """A location in the present text."""

    line: int
    """The line, from 1; for a stale location the line where it was, or would be."""
    state: State


class PresentFunction(NamedTuple):
    line: int
    """The line of its `def`."""
    state: State
    definition: Definition | None
    """None if the function is stale."""


def recorded_line(session: Session, folder: Path, path: str, line: int) -> Present:
    """Return the recorded location of a line of the present text."""
    return places(session, folder, path).recorded_line(line)


def places(session: Session, folder: Path, path: str, text: str | None = None) -> Places:
    """Return all locations of one file. `text` is the present text; by default it is the text that the user sees."""
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
    """The text that ran, if it is certain."""
    text: str | None
    """The present text; None for a file that cannot be read."""
    why: str = ""
    """Why the text that ran is uncertain."""

    @cached_property
    def _map(self) -> LineMap | None:
        return line_map(self.recorded, self.text) if self.recorded is not None and self.text is not None else None

    @cached_property
    def now(self) -> Outline | None:
        return outline(self.text) if self.text is not None else None

    @cached_property
    def _now_at(self) -> dict[int, list[Definition]]:
        """Definitions by the line of the `def`."""
        found: dict[int, list[Definition]] = {}
        for named in (self.now or {}).values():
            for one in named:
                found.setdefault(one.line, []).append(one)
        return found

    @property
    def differs(self) -> bool:
        """Whether the present text is known to differ from the text that ran."""
        return self.recorded is not None and (self.text is None or lines_of(self.recorded) != lines_of(self.text))

    def as_recorded(self) -> tuple[str | None, str]:
        """Return the text in which recorded lines have their recorded numbers, and a remark about it, if any."""
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
        """Return the present location of a function whose code began at `first_line` (of its first decorator, else of
        its `def`)."""
        found = self._by_text(qualname, first_line) if self._map is not None else self._by_name(qualname, first_line)
        if found is None:
            return PresentFunction(self.line(self._before(qualname, first_line).line).line, "stale", None)
        return PresentFunction(found.line, "exact" if found.first_line == first_line else "moved", found)

    def sentence(self, state: State) -> str:
        """Return the sentence about a stale location; "" for any other state."""
        if state != "stale":
            return ""
        if self.text is None:
            return f"{self.path} cannot be read; was it moved since it was recorded?"
        if self.recorded is not None:
            return "This was changed or removed since it was recorded."
        why = f": {self.why}" if self.why else ""
        return f"The text of this file that ran is unknown{why}."

    def _by_text(self, qualname: str, first_line: int) -> Definition | None:
        assert self._map is not None and self.recorded is not None
        before = self._before(qualname, first_line)
        line = self._map.new(before.line)
        if self.now is None:
            # The other lines of a text that is being edited are still valid.
            first, last = self._map.new(first_line), self._map.new(before.end_line)
            return before._replace(first_line=first or line, line=line, end_line=last or line) if line else None
        if line:
            here = self._now_at.get(line, [])
            named = [one for one in here if one.qualname == before.qualname]
            # With several in one line (lambdas, for example) the match must be certain; a renamed class takes its
            # methods along.
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
        """Return the definition in the recorded text, as far as it is known."""
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
        return (folder / source_snapshots.INDEX_FILE).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _index(folder: Path, _modified: int) -> Mapping[str, source_snapshots.Source]:
    try:
        place = moved(folder, load_run(folder))
    except RunError:
        place = None  # it was removed
    known = source_snapshots.index(folder).items()
    return {same_file_key(place(path) if place else path): source for path, source in known}


@lru_cache(maxsize=64)
def _text(folder: Path, source: source_snapshots.Source) -> str | None:
    return source_snapshots.text(folder, source)
