"""What was asked of a workspace's source, and found: kept for as long as no file has changed that it depends on.

Invariant: an answer that is given again is what would be found now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, TypeVar

from clew.esl.functions import Contents
from clew.esl.kept import Kept
from clew.esl.source_files import SourceFile

MOST = 20_000
"""That are kept; a spec of thousands of rules asks several questions about each, and an editor new ones at every keystroke."""
_T = TypeVar("_T")


class _Answer(NamedTuple):
    value: Any
    files: Collection[str]
    """Paths of those whose contents it depends on."""
    shape: bool
    """Depends on what any file declares, too (see `shape_of`)."""
    classes: bool
    """Or on which classes there are, and what their bases are (see `classes_of`)."""
    lasting: bool
    """Knows itself of which files it is, and what has become of them."""


class Answers:
    def __init__(self) -> None:
        self._known: Kept[object, _Answer] = Kept(MOST)

    def get(
        self,
        question: object,
        find: Callable[[], _T],
        files: Collection[str],
        *,
        shape: bool = False,
        classes: bool = False,
        lasting: bool = False,
    ) -> _T:
        known = self._known.get(question)
        if known is None:
            known = _Answer(find(), files, shape, classes, lasting)
            self._known.put(question, known)
        value: _T = known.value
        return value

    def by_file(
        self, question: object, files: Iterable[SourceFile], find: Callable[[SourceFile], _T], *, classes: bool
    ) -> list[_T]:
        """For each file what `find` says of it; asked only of those that have changed since it was asked last."""
        known: dict[str, tuple[SourceFile, _T]] = self.get(question, dict, (), classes=classes, lasting=not classes)
        found = []
        for file in files:
            entry = known.get(file.path)
            if entry is None or entry[0] != file:
                entry = known[file.path] = file, find(file)
            found.append(entry[1])
        return found

    def forget(self) -> None:
        """There are other files now."""
        self._known.retain(lambda known: known.lasting)

    def forget_about(self, changed: Collection[str], *, shape: bool, classes: bool) -> None:
        """These files hold something else now; with `shape` they declare something else, with `classes` other classes."""
        paths = frozenset(changed)
        self._known.retain(
            lambda known: (
                not (shape and known.shape) and not (classes and known.classes) and paths.isdisjoint(known.files)
            )
        )


def shape_of(contents: Contents) -> object:
    """All that other files, and patterns that name nothing, can depend on: not where functions stand, and what they take."""
    functions = [(f.qualname, f.kind, f.decorators, f.decorator_names, f.class_name) for f in contents.functions]
    classes = [(each.qualname, each.bases, each.decorators) for each in contents.classes]
    return functions, classes, contents.names, contents.channels


def classes_of(contents: Contents, module: str) -> object:
    """What of it `Ancestry` depends on: classes, their bases, and names that mean something else than what is defined here."""
    names = contents.names
    handed_on = {name: meanings for name, meanings in names.bound.items() if meanings != (f"{module}.{name}",)}
    return names.classes, handed_on, names.stars, names.dynamic
