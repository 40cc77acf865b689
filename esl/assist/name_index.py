"""Index the functions of a workspace by name, to correct misspelt rules.

Invariant: after `update` it matches the index. Only changed files are read, and an update that ran out of time is
continued by the next.
"""

from __future__ import annotations

from clew.esl.index.deadline import Deadline
from clew.esl.index.files import SourceFile
from clew.esl.index.index import SourceIndex

_Names = tuple[tuple[str, str], ...]
"""Module and name of each function."""


class Vocabulary:
    def __init__(self) -> None:
        self._files: tuple[SourceFile, ...] = ()
        self._known: dict[str, tuple[SourceFile, _Names]] = {}
        """Files and names by path."""
        self._modules: dict[str, list[str]] = {}
        self._labels: dict[tuple[str, str], list[str]] = {}

    def modules_with(self, name: str) -> list[str]:
        """Return the modules that contain a function of that name, sorted."""
        return sorted(self._modules.get(name, ()))

    def labels_with(self, top: str, last: str) -> list[str]:
        """Return the functions in a top-level package whose qualified names end with `last`, as rules name them,
        sorted."""
        return sorted(self._labels.get((top, last), ()))

    def update(self, index: SourceIndex, deadline: Deadline) -> None:
        """Update from the index. Raises `NotNow`."""
        if self._files is index.files:
            return
        deadline.read(index, index.files)
        left = dict(self._known)
        for file in index.files:
            known = left.pop(file.path, None)
            if known is not None and (known[0] is file or known[0] == file):
                continue
            deadline.check()
            names = tuple((function.module, function.name) for function in index.functions(file))
            if known is None or known[1] != names:
                self._remove(known[1] if known is not None else ())
                self._add(names)
            self._known[file.path] = file, names
        for path, (_, names) in left.items():
            self._remove(names)
            del self._known[path]
        self._files = index.files

    def _add(self, names: _Names) -> None:
        for module, name in names:
            self._modules.setdefault(name, []).append(module)
            if key := _ending(module, name):
                self._labels.setdefault(key, []).append(f"{module}:{name}")

    def _remove(self, names: _Names) -> None:
        for module, name in names:
            self._modules[name].remove(module)
            if key := _ending(module, name):
                self._labels[key].remove(f"{module}:{name}")


def _ending(module: str, name: str) -> tuple[str, str] | None:
    owner, _, last = name.rpartition(".")
    return (module.partition(".")[0], last) if owner else None


def vocabulary(index: SourceIndex, deadline: Deadline) -> Vocabulary:
    """Return the updated vocabulary of an index. Raises `NotNow`."""
    found: Vocabulary = index.answer("vocabulary", Vocabulary, shape=False, lasting=True)
    found.update(index, deadline)
    return found
