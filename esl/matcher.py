"""Which functions of a workspace a spec's rules mean. Matching itself is `clew.records.match`, the same as in the traced
process, and `index` names functions as Python does, so that a rule means the same functions there and here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.esl.functions import FunctionInfo
from clew.esl.index import SourceIndex
from clew.esl.lower import LoweredRule
from clew.esl.source_files import SourceFile
from clew.records.match import matches, matches_module
from clew.records.plan import Rule, Target


@dataclass(frozen=True)
class RuleMatch:
    rule: LoweredRule
    functions: tuple[FunctionInfo, ...]


def functions_of(rule: Rule, index: SourceIndex) -> tuple[FunctionInfo, ...]:
    """The functions that a rule means, by file and line. Reads only the files whose modules the rule can mean.

    A file may have several names: it is meant by any of them, and excepted by any of them.
    """
    found: list[FunctionInfo] = []
    files = [f for f in index.files if any(matches_module(rule.target, name, f.path) for name in f.names)]
    index.read(files)
    for file in files:
        found += [function for function in index.functions(file) if _means(rule, file, function)]
    return tuple(found)


def _means(rule: Rule, file: SourceFile, function: FunctionInfo) -> bool:
    def named_by(target: Target) -> bool:
        return any(matches(target, name, function.qualname, file.path) for name in file.names)

    return named_by(rule.target) and not any(map(named_by, rule.excepts)) and _is_annotated(rule, function)


def _is_annotated(rule: Rule, function: FunctionInfo) -> bool:
    """Does the function annotate no parameter otherwise than the rule says?"""
    annotations = dict(zip(function.parameters, function.types, strict=True))
    return all(annotations.get(name) in (None, "", annotation) for name, annotation in rule.types)


def match(rules: Iterable[LoweredRule], index: SourceIndex) -> tuple[RuleMatch, ...]:
    return tuple(RuleMatch(rule, functions_of(rule.rule, index)) for rule in rules)
