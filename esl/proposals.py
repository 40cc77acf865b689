"""What a pattern that means no function was probably meant to be.

Invariant: a search ends when it is found, but none begins when the time for all of them is over; who asks is told so, and may
ask again later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from clew.esl.ast import Pattern
from clew.esl.channels import has_wildcard
from clew.esl.index import SourceIndex
from clew.esl.lower import target_of
from clew.esl.matcher import functions_of
from clew.esl.patience import NotNow, Patience
from clew.esl.problem import did_you_mean, nearest
from clew.esl.vocabulary import vocabulary
from clew.records.match import pattern as compiled_glob
from clew.records.plan import Rule

_T = TypeVar("_T")


class Proposals:
    def __init__(self, index: SourceIndex, patience: Patience) -> None:
        self.index = index
        self.patience = patience
        self.postponed = False
        """Is there a pattern that may have a proposal, if one asks again?"""
        self._searches = True
        self._before: dict[str, str] = index.answer("proposals before", dict, shape=False, lasting=True)
        """What was found when functions had other names."""

    def of(self, pattern: Pattern) -> str:
        """The pattern that was probably meant, "" if nothing is near. Raises `NotNow`."""
        if not self._searches:
            return self._still(pattern)
        found = self.index.answer(("proposal", pattern.text), lambda: self._searched(pattern))
        self._before[pattern.text] = found
        return found

    def answer(self, question: object, find: Callable[[], _T], files: Collection[str], *, shape: bool = True) -> _T:
        """As `SourceIndex.answer`, of what asks for proposals. When the time for all searches is over it is what is found
        where patterns have the proposals that they had, as far as these are true; that is kept, too, until one asks again
        and there is time."""

        def in_time() -> _T:
            self.patience.go_on()
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

    def among(self, word: str, names: Callable[[Patience], Iterable[str]]) -> tuple[str, str]:
        """As `did_you_mean`, of names that take a look at all files. Raises `NotNow`."""
        return did_you_mean(word, tuple(names(self.patience))) if self._searches else ("", "")

    def _searched(self, pattern: Pattern) -> str:
        self.patience.go_on()
        return self._find(pattern)

    def _still(self, pattern: Pattern) -> str:
        before = self._before.get(pattern.text, "")
        module, colon, qualname = before.partition(":")
        target = target_of(Pattern(pattern.span, module, qualname if colon else None))
        return before if before and functions_of(Rule(target), self.index) else ""

    def _find(self, pattern: Pattern) -> str:
        """The pattern that was probably meant, "" if nothing is near."""
        modules = self.index.answer("modules", self._modules, shape=False)
        qualname = pattern.qualname
        if qualname is None and not has_wildcard(pattern.module):
            # A dot in place of the colon: package.module.Class.method.
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
            places = vocabulary(self.index, self.patience).modules_with(qualname)
            # The same name elsewhere in the package, or in a module that is called almost the same.
            places = [name for name in places if name.partition(".")[0] == top] or [nearest(pattern.module, places)]
            if places[0]:
                return f"{nearest(pattern.module, places, 0.0)}:{qualname}"
        if here and qualname:
            name = _near_name(qualname, [function.name for file in here for function in self.index.functions(file)])
            if name:
                return f"{pattern.module}:{name}"
            top = pattern.module.partition(".")[0]
            same = vocabulary(self.index, self.patience).labels_with(top, qualname.rpartition(".")[2])
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
        """The path of each module's file."""
        return {name: file.path for file in self.index.files for name in file.names}


def _near_name(qualname: str, names: list[str]) -> str:
    """The function, or all of a class, that was probably meant by a name that none has."""
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
    # A class with a slip before a wildcard: Conection.*
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
    """The module and the packages it is in."""
    parts = module.split(".")
    for stop in range(1, len(parts) + 1):
        yield ".".join(parts[:stop])
