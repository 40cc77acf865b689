"""Propose corrections for patterns that match no function.

Invariant: a started search always completes, but no search starts after the time for all searches is over. The caller
learns this and may ask again later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from clew.esl.assist.name_index import vocabulary
from clew.esl.checker.channels import has_wildcard
from clew.esl.index.deadline import Deadline, NotNow
from clew.esl.index.index import SourceIndex
from clew.esl.index.match import functions_of
from clew.esl.lower.lower import target_of
from clew.esl.syntax.ast import Pattern
from clew.esl.syntax.problem import did_you_mean, nearest
from clew.records.plan.match import pattern as compiled_glob
from clew.records.plan.plan import Rule

_T = TypeVar("_T")


class Proposals:
    def __init__(self, index: SourceIndex, deadline: Deadline) -> None:
        self.index = index
        self.deadline = deadline
        self.postponed = False
        """True if asking again can bring a proposal."""
        self._searches = True
        self._before: dict[str, str] = index.answer("proposals before", dict, shape=False, lasting=True)
        """Proposals from before functions were renamed."""

    def of(self, pattern: Pattern) -> str:
        """Return the pattern that was probably meant, or "" if none is similar. Raises `NotNow`."""
        if not self._searches:
            return self._still(pattern)
        found = self.index.answer(("proposal", pattern.text), lambda: self._searched(pattern))
        self._before[pattern.text] = found
        return found

    def answer(self, question: object, find: Callable[[], _T], files: Collection[str], *, shape: bool = True) -> _T:
        """Answer like `SourceIndex.answer`, for questions that need proposals. When the time for all searches is over,
        the answer uses earlier proposals as far as they are still valid. That answer is cached until a later call
        has time."""

        def in_time() -> _T:
            self.deadline.check()
            return find()

        try:
            return self.index.answer(question, in_time, files, shape=shape)
        except NotNow:
            self.postponed = True
            return self.index.answer(("for now", question), lambda: self._without_search(find), files)

    def _without_search(self, find: Callable[[], _T]) -> _T:
        self._searches = False
        try:
            return find()
        finally:
            self._searches = True

    def among(self, word: str, names: Callable[[Deadline], Iterable[str]]) -> tuple[str, str]:
        """Work like `did_you_mean`, for names that require reading all files. Raises `NotNow`."""
        return did_you_mean(word, tuple(names(self.deadline))) if self._searches else ("", "")

    def _searched(self, pattern: Pattern) -> str:
        self.deadline.check()
        return self._find(pattern)

    def _still(self, pattern: Pattern) -> str:
        before = self._before.get(pattern.text, "")
        module, colon, qualname = before.partition(":")
        target = target_of(Pattern(pattern.span, module, qualname if colon else None))
        return before if before and functions_of(Rule(target), self.index) else ""

    def _find(self, pattern: Pattern) -> str:
        """Return the pattern that was probably meant, or "" if none is similar."""
        modules = self.index.answer("modules", self._modules, shape=False)
        qualname = pattern.qualname
        if qualname is None and not has_wildcard(pattern.module):
            # A dot instead of the colon: package.module.Class.method.
            parts = pattern.module.split(".")
            for cut in range(len(parts) - 1, 0, -1):
                module, name = ".".join(parts[:cut]), ".".join(parts[cut:])
                if module in modules:
                    file = self.index.file_at(modules[module])
                    names = [function.name for function in self.index.functions(file)] if file is not None else []
                    if any(each == name or each.startswith(name + ".") for each in names):
                        return f"{module}:{name}" if name in names else f"{module}:{name}.*"
            if any(name.startswith(pattern.module + ".") for name in modules):
                return pattern.module + ".**"
        here = self.index.files_named(target_of(pattern))
        if qualname and not has_wildcard(pattern.text):
            top = pattern.module.partition(".")[0]
            places = vocabulary(self.index, self.deadline).modules_with(qualname)
            # The same name elsewhere in the package, or in a module with a similar name.
            places = [name for name in places if name.partition(".")[0] == top] or [nearest(pattern.module, places)]
            if places[0]:
                return f"{nearest(pattern.module, places, 0.0)}:{qualname}"
        if here and qualname:
            name = _near_name(qualname, [function.name for file in here for function in self.index.functions(file)])
            if name:
                return f"{pattern.module}:{name}"
            top = pattern.module.partition(".")[0]
            same = vocabulary(self.index, self.deadline).labels_with(top, qualname.rpartition(".")[2])
            if same:
                return nearest(pattern.text, same, 0.0)
        if not here:
            stem, ending = _without_ending(pattern.module)
            known = self.index.answer(
                "stems", lambda: sorted({each for name in modules for each in _stems(name)}), shape=False
            )
            inside = next((name for name in known if name.endswith("." + stem)), "")
            module = inside or nearest(stem, known, 0.7)
            if module and not has_wildcard(stem):
                return module + ending + (f":{qualname}" if qualname else "")
        return ""

    def _modules(self) -> dict[str, str]:
        """Map each module to the path of its file."""
        return {name: file.path for file in self.index.files for name in file.names}


def _near_name(qualname: str, names: list[str]) -> str:
    """Return the function, or all of a class, that was probably meant by an unknown name."""
    if not has_wildcard(qualname):
        if any(name.startswith(qualname + ".") for name in names):
            return qualname + ".*"
        inside = sorted(name for name in names if name.endswith("." + qualname))
        if inside:
            return inside[0]
        owner, _, last = qualname.rpartition(".")
        siblings = [name for name in names if owner and name.rpartition(".")[0] == owner]
        if siblings:
            near = nearest(last, [name.rpartition(".")[2] for name in siblings])
            return f"{owner}.{near}" if near else ""
        return nearest(qualname, names) or next((name for name in names if name.rpartition(".")[2] == last), "")
    # A misspelt class before a wildcard: Conection.*
    stem, ending = _without_ending(qualname)
    if not ending or has_wildcard(stem):
        return ""
    classes = sorted({name.rpartition(".")[0] for name in names} - {""})
    near = nearest(stem, classes)
    return near + ending if near and any(compiled_glob(near + ending).match(name) for name in names) else ""


def _without_ending(glob: str) -> tuple[str, str]:
    for ending in (".**", ".*"):
        if glob.endswith(ending):
            return glob.removesuffix(ending), ending
    return glob, ""


def _stems(module: str) -> Iterator[str]:
    """Yield the module and its parent packages."""
    parts = module.split(".")
    for stop in range(1, len(parts) + 1):
        yield ".".join(parts[:stop])
