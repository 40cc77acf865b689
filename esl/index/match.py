"""Match a spec's rules with the functions of a workspace. `clew.records.plan.match` does the matching, as in the traced
process, and `index` names functions as Python does. So a rule matches the same functions in both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.esl.index.deadline import Deadline, NotNow
from clew.esl.index.declarations import FunctionInfo
from clew.esl.index.files import SourceFile
from clew.esl.index.index import SourceIndex
from clew.esl.lower.lower import LoweredRule
from clew.records.plan.match import has_filters, matches_module, pattern
from clew.records.plan.plan import Rule
from clew.source.class_hierarchy import YES, Answer
from clew.source.rule_filters import Candidate, meant


@dataclass(frozen=True, slots=True)
class RuleMatch:
    rule: LoweredRule
    functions: tuple[FunctionInfo, ...]
    """All functions that the rule matches or may match, by file and line."""
    doubts: tuple[str, ...] = ()
    """For each function, the reason why only the program's run shows whether it matches; "" if the source shows it."""

    @property
    def certain(self) -> int:
        """Return how many functions certainly match."""
        return len(self.functions) - sum(map(bool, self.doubts))

    def uncertain(self) -> Iterator[tuple[FunctionInfo, str]]:
        """Yield the uncertain functions with the reasons."""
        return (pair for pair in zip(self.functions, self.doubts, strict=True) if pair[1])


def functions_of(rule: Rule, index: SourceIndex) -> tuple[FunctionInfo, ...]:
    """Return the functions that a rule matches or may match, by file and line. Reads only files whose modules can
    match.

    A file can have several names; a match of any name counts, for the pattern and for its exceptions.
    """
    return meant_by(rule, index)[0]


def meant_by(rule: Rule, index: SourceIndex) -> tuple[tuple[FunctionInfo, ...], tuple[str, ...]]:
    """Return the functions with the reason for doubt of each, or ""."""
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
    """Tell whether the rule filters by base classes, which any file can change."""
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
    """Tell whether no parameter of the function has an annotation that contradicts the rule."""
    annotations = dict(zip(function.parameters, function.types, strict=True))
    return all(annotations.get(name) in (None, "", annotation) for name, annotation in rule.types)


def _answer(rule: Rule, file: SourceFile, function: FunctionInfo, index: SourceIndex) -> Answer:
    decorators = (*function.decorators, *(name for names in function.decorator_names for name in names))
    is_async = function.kind in ("coroutine", "async_generator")
    candidate = Candidate(file.names, function.qualname, file.path, is_async, decorators, function.class_name)
    return meant(rule, candidate, index.ancestry)


def functions_in_time(rule: Rule, index: SourceIndex, deadline: Deadline) -> tuple[tuple[FunctionInfo, ...], bool]:
    """Work like `functions_of`, for as many files as the time allows; also return whether these were all."""
    key = ("in a file", rule.target, rule.excepts, rule.types)
    classes = _by_classes(rule)

    def of_file(file: SourceFile) -> tuple[tuple[FunctionInfo, str], ...]:
        deadline.check()
        return tuple(_meant_in(rule, file, index))

    found: list[FunctionInfo] = []
    files = index.files_named(rule.target)
    here = deadline.available(index, files)
    try:
        for file in here:
            for pairs in index.answer_by_file(key, (file,), of_file, classes=classes):
                found += (function for function, _ in pairs)
    except NotNow:
        return tuple(found), False
    return tuple(found), len(here) == len(files)


def match(rules: Iterable[LoweredRule], index: SourceIndex) -> tuple[RuleMatch, ...]:
    return tuple(RuleMatch(rule, *meant_by(rule.rule, index)) for rule in rules)
