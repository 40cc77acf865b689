"""Which functions of a workspace a spec's rules mean. Matching itself is `clew.records.match`, the same as in the traced
process, and `index` names functions as Python does, so that a rule means the same functions there and here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.esl.functions import FunctionInfo
from clew.esl.index import SourceIndex
from clew.esl.lower import LoweredRule
from clew.esl.patience import NotNow, Patience
from clew.esl.source_files import SourceFile
from clew.records.ancestry import YES, Answer
from clew.records.filters import Candidate, meant
from clew.records.match import has_filters, matches_module, pattern
from clew.records.plan import Rule


@dataclass(frozen=True, slots=True)
class RuleMatch:
    rule: LoweredRule
    functions: tuple[FunctionInfo, ...]
    """All that the rule may mean, by file and line."""
    doubts: tuple[str, ...] = ()
    """For each of them why only the program's run tells whether it is meant, "" where the source does."""

    @property
    def certain(self) -> int:
        """How many of the functions are meant whatever the program's run brings."""
        return len(self.functions) - sum(map(bool, self.doubts))

    def uncertain(self) -> Iterator[tuple[FunctionInfo, str]]:
        """Those that may turn out otherwise, with the reasons."""
        return (pair for pair in zip(self.functions, self.doubts, strict=True) if pair[1])


def functions_of(rule: Rule, index: SourceIndex) -> tuple[FunctionInfo, ...]:
    """The functions that a rule means or may mean, by file and line. Reads only the files whose modules it can mean.

    A file may have several names: it is meant by any of them, and excepted by any of them.
    """
    return meant_by(rule, index)[0]


def meant_by(rule: Rule, index: SourceIndex) -> tuple[tuple[FunctionInfo, ...], tuple[str, ...]]:
    """With what makes each one doubtful, "" for nothing."""
    key = (rule.target, rule.excepts, rule.types)
    classes = _by_classes(rule)
    return index.answer(
        ("meant", *key),
        lambda: _meant_by(rule, index, ("in a file", *key), classes),
        index.paths_named(rule.target),
        shape=False,
        classes=classes,
    )


def _by_classes(rule: Rule) -> bool:
    """From which classes one descends may be said in any file."""
    return any(target.classes for target in (rule.target, *rule.excepts))


def _meant_by(
    rule: Rule, index: SourceIndex, key: object, classes: bool
) -> tuple[tuple[FunctionInfo, ...], tuple[str, ...]]:
    files = index.files_named(rule.target)
    index.read(files)
    found = index.answer_by_file(key, files, lambda file: tuple(_meant_in(rule, file, index)), classes=classes)
    pairs = [pair for each in found for pair in each]
    return tuple(function for function, _ in pairs), tuple(doubt for _, doubt in pairs)


def _meant_in(rule: Rule, file: SourceFile, index: SourceIndex) -> Iterator[tuple[FunctionInfo, str]]:
    qualname, filtered = pattern(rule.target.qualname), has_filters(rule)
    left_out = [
        pattern(target.qualname)
        for target in (() if filtered else rule.excepts)
        if any(matches_module(target, name, file.path) for name in file.names)
    ]
    for function in index.functions(file):
        name = function.name
        if not qualname.match(name) or any(glob.match(name) for glob in left_out):
            continue
        answer = _answer(rule, file, function, index) if filtered else YES
        if answer.holds and (not rule.types or _is_annotated(rule, function)):
            yield function, answer.doubt or function.doubt


def _is_annotated(rule: Rule, function: FunctionInfo) -> bool:
    """Does the function annotate no parameter otherwise than the rule says?"""
    annotations = dict(zip(function.parameters, function.types, strict=True))
    return all(annotations.get(name) in (None, "", annotation) for name, annotation in rule.types)


def _answer(rule: Rule, file: SourceFile, function: FunctionInfo, index: SourceIndex) -> Answer:
    decorators = (*function.decorators, *(name for names in function.decorator_names for name in names))
    is_async = function.kind in ("coroutine", "async_generator")
    candidate = Candidate(file.names, function.qualname, file.path, is_async, decorators, function.class_name)
    return meant(rule, candidate, index.ancestry)


def functions_in_time(rule: Rule, index: SourceIndex, patience: Patience) -> tuple[tuple[FunctionInfo, ...], bool]:
    """As `functions_of`, of as many files as there is time for; is that all?"""
    key = ("in a file", rule.target, rule.excepts, rule.types)
    classes = _by_classes(rule)

    def of_file(file: SourceFile) -> tuple[tuple[FunctionInfo, str], ...]:
        patience.go_on()
        return tuple(_meant_in(rule, file, index))

    found: list[FunctionInfo] = []
    files = index.files_named(rule.target)
    here = patience.at_hand(index, files)
    try:
        for file in here:
            for pairs in index.answer_by_file(key, (file,), of_file, classes=classes):
                found += (function for function, _ in pairs)
    except NotNow:
        return tuple(found), False
    return tuple(found), len(here) == len(files)


def match(rules: Iterable[LoweredRule], index: SourceIndex) -> tuple[RuleMatch, ...]:
    return tuple(RuleMatch(rule, *meant_by(rule.rule, index)) for rule in rules)
