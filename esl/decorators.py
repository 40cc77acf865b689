"""Decorators that functions have, by the names and patterns that `decorated by` can have for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from clew.esl.functions import FunctionInfo
from clew.esl.index import SourceIndex
from clew.esl.patience import Patience
from clew.esl.source_files import SourceFile

_ACCESSORS = ("setter", "getter", "deleter")
"""What stands before these is the property's own name, which nobody looks for."""


def used_in(index: SourceIndex, patience: Patience) -> Mapping[str, int]:
    """How many functions of the workspace each name or pattern of `counted` means. Raises `NotNow`."""

    def of_file(file: SourceFile) -> Mapping[str, int]:
        patience.go_on()
        return counted(index.functions(file))

    def count() -> Mapping[str, int]:
        patience.read(index, index.files)
        total: Counter[str] = Counter()
        for each in index.answer_by_file("decorators", index.files, of_file):
            total.update(each)
        return total

    return index.answer("decorators in all files", count)


def counted(functions: Iterable[FunctionInfo]) -> Mapping[str, int]:
    """How many of the functions have a decorator that is called so: as it is written (`app.route`), as the file's imports name
    it (`shop.web.app.route`), and of whatever object it is (`*.route`)."""
    return Counter(name for function in functions for name in set(_names(function)))


def _names(function: FunctionInfo) -> Iterator[str]:
    for written, resolved in zip(function.decorators, function.decorator_names, strict=False):
        owner, dot, last = written.rpartition(".")
        if dot and "." not in owner:
            yield f"*.{last}"
        if last not in _ACCESSORS:
            yield from (name for name in (written, *resolved) if name and not name.startswith("builtins."))
