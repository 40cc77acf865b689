"""Cache questions about a workspace's source and their answers until a file changes that an answer depends on.

Invariant: a cached answer equals a new one.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, TypeVar

from clew.esl.index.declarations import Contents
from clew.esl.index.files import SourceFile

MOST = 20_000
"""Maximum number of cached answers: a spec of thousands of rules asks several questions per rule, and an editor asks
new ones at every keystroke."""
_T = TypeVar("_T")


class _Answer(NamedTuple):
    value: Any
    files: Collection[str]
    """Paths of the files whose contents it depends on."""
    shape: bool
    """True if it also depends on the declarations of any file (see `shape_of`)."""
    classes: bool
    """True if it also depends on all classes and their bases (see `classes_of`)."""
    lasting: bool
    """True if the answer itself tracks its files and their changes."""


class Answers:
    def __init__(self) -> None:
        self._known: OrderedDict[object, _Answer] = OrderedDict()
        """The answer that was asked for last is at the end."""

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
            known = self._known[question] = _Answer(find(), files, shape, classes, lasting)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        else:
            with contextlib.suppress(KeyError):  # another thread may have removed it
                self._known.move_to_end(question)
        value: _T = known.value
        return value

    def by_file(
        self, question: object, files: Iterable[SourceFile], find: Callable[[SourceFile], _T], *, classes: bool
    ) -> list[_T]:
        """Return the result of `find` for each file, computed only for changed files."""
        known: dict[str, tuple[SourceFile, _T]] = self.get(question, dict, (), classes=classes, lasting=not classes)
        found = []
        for file in files:
            entry = known.get(file.path)
            if entry is None or entry[0] != file:
                entry = known[file.path] = file, find(file)
            found.append(entry[1])
        return found

    def forget(self) -> None:
        """Drop answers because the list of files changed."""
        self._retain(lambda known: known.lasting)

    def forget_about(self, changed: Collection[str], *, shape: bool, classes: bool) -> None:
        """Drop answers because these files changed; with `shape` their declarations changed, with `classes` their
        classes."""
        paths = frozenset(changed)
        self._retain(
            lambda known: (
                not (shape and known.shape) and not (classes and known.classes) and paths.isdisjoint(known.files)
            )
        )

    def _retain(self, holds: Callable[[_Answer], bool]) -> None:
        self._known = OrderedDict((question, known) for question, known in self._known.items() if holds(known))


def shape_of(contents: Contents) -> object:
    """Return all that other files, and patterns without exact names, can depend on: not the positions and parameters of
    functions."""
    functions = [(f.qualname, f.kind, f.decorators, f.decorator_names, f.class_name) for f in contents.functions]
    classes = [(each.qualname, each.bases, each.decorators) for each in contents.classes]
    return functions, classes, contents.names, contents.channels


def classes_of(contents: Contents, module: str) -> object:
    """Return all that `Ancestry` depends on: classes, their bases, and imported names."""
    names = contents.names
    handed_on = {name: meanings for name, meanings in names.bound.items() if meanings != (f"{module}.{name}",)}
    return names.classes, handed_on, names.stars, names.dynamic
