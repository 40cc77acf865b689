"""Collect the decorators of functions under every name and pattern that `decorated by` accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from clew.esl.index.deadline import Deadline
from clew.esl.index.declarations import FunctionInfo
from clew.esl.index.files import SourceFile
from clew.esl.index.index import SourceIndex

_ACCESSORS = ("setter", "getter", "deleter")
"""The part before these is the property's own name, which is not useful to search for."""


def used_in(index: SourceIndex, deadline: Deadline) -> Mapping[str, int]:
    """Count the functions of the workspace for each name or pattern of `counted`. Raises `NotNow`."""

    def of_file(file: SourceFile) -> Mapping[str, int]:
        deadline.check()
        return counted(index.functions(file))

    def count() -> Mapping[str, int]:
        deadline.read(index, index.files)
        total: Counter[str] = Counter()
        for each in index.answer_by_file("decorators", index.files, of_file):
            total.update(each)
        return total

    return index.answer("decorators in all files", count)


def counted(functions: Iterable[FunctionInfo]) -> Mapping[str, int]:
    """Count the functions for each name of their decorators: as written (`app.route`), by the file's imports
    (`shop.web.app.route`), and on any object (`*.route`)."""
    return Counter(name for function in functions for name in set(_names(function)))


def _names(function: FunctionInfo) -> Iterator[str]:
    for written, resolved in zip(function.decorators, function.decorator_names, strict=False):
        owner, dot, last = written.rpartition(".")
        if dot and "." not in owner:
            yield f"*.{last}"
        if last not in _ACCESSORS:
            yield from (name for name in (written, *resolved) if name and not name.startswith("builtins."))
