"""Decides by the plan which functions of a module are call scopes and what else is recorded at them, and registers them.

Invariant: a module that no rule names costs one look at its name; clew's own modules are never recorded.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from types import CodeType

from clew.instrument.probes import sites
from clew.instrument.probes.actions import compile_actions
from clew.instrument.probes.bytecode import Chooser, Probes
from clew.records.match import matches_module, pattern, rule_matches
from clew.records.plan import Action, Plan, Rule

_OURS = ("clew.instrument", "clew.records")


class PlanChooser:
    """A plan, asked module by module."""

    def __init__(self, plan: Plan) -> None:
        self._rules = tuple(enumerate(plan.rules))

    def names(self, module: str) -> bool:
        """Could a rule choose functions of this module, judging by its name alone?"""
        return not _is_ours(module) and any(pattern(rule.target.module).match(module) for _, rule in self._rules)

    def of_module(self, module: str, file: str) -> Chooser | None:
        """What decides for the code of `module`, which was compiled from `file`; None when no rule names it."""
        if not self.names(module):
            return None
        file = os.path.abspath(file)
        rules = [(index, rule) for index, rule in self._rules if matches_module(rule.target, module, file)]
        return (lambda code: _choose(rules, module, file, code)) if rules else None


def _is_ours(module: str) -> bool:
    return any(module == name or module.startswith(name + ".") for name in _OURS)


def _choose(rules: Sequence[tuple[int, Rule]], module: str, file: str, code: CodeType) -> Probes | None:
    chosen = [(index, rule) for index, rule in rules if rule_matches(rule, module, code.co_qualname, file)]
    if not chosen:
        return None
    site = sites.register(
        module, code.co_qualname, file, code.co_firstlineno, last_line(code), kind_of(code), chosen[0][0]
    )
    actions: list[tuple[Action, str]] = [(action, rule.origin) for _, rule in chosen for action in rule.actions]
    return compile_actions(site, code, f"{module}:{code.co_qualname}", actions) if actions else Probes(site)


def kind_of(code: CodeType) -> str:
    """The word for a function's code in `SiteInfo.kind`."""
    flags = code.co_flags
    if flags & inspect.CO_ASYNC_GENERATOR:
        return "async_generator"
    if flags & inspect.CO_COROUTINE:
        return "coroutine"
    if flags & inspect.CO_GENERATOR:
        return "generator"
    return "lambda" if code.co_name == "<lambda>" else "function"


def last_line(code: CodeType) -> int:
    """The last line that code was made from, nested functions included."""
    lines = [end for _, end, _, _ in code.co_positions() if end is not None]
    lines += [last_line(constant) for constant in code.co_consts if type(constant) is CodeType]
    return max(lines, default=code.co_firstlineno)
