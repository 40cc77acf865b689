"""Which functions of a workspace a spec's rules mean. Matching itself is `clew.records.match`, the same as in the traced
process, and `index` names functions as Python does, so that a rule means the same functions there and here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.esl.index import FunctionInfo, SourceIndex
from clew.esl.lower import LoweredRule
from clew.records.match import matches_module, rule_matches
from clew.records.plan import Rule


@dataclass(frozen=True)
class RuleMatch:
    rule: LoweredRule
    functions: tuple[FunctionInfo, ...]


def functions_of(rule: Rule, index: SourceIndex) -> tuple[FunctionInfo, ...]:
    """The functions that a rule means, by file and line. Reads only the files whose modules the rule can mean."""
    found: list[FunctionInfo] = []
    for file in index.files:
        names = [name for name in file.names if matches_module(rule.target, name, file.path)]
        if names:
            found += [
                function
                for function in index.functions(file)
                if any(rule_matches(rule, name, function.qualname, file.path) for name in names)
            ]
    return tuple(found)


def match(rules: Iterable[LoweredRule], index: SourceIndex) -> tuple[RuleMatch, ...]:
    return tuple(RuleMatch(rule, functions_of(rule.rule, index)) for rule in rules)
