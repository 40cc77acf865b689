"""Decides by the plan which functions of a module are call scopes and what else is recorded at them, and registers them.

Invariant: a module that no rule names costs one look at its name; clew's own modules are never recorded.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING

from clew.instrument.probes import annotated, sites
from clew.instrument.probes.bytecode import Probes, is_function, parameters
from clew.instrument.probes.instructions import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from clew.instrument.recorder import redaction
from clew.records.match import has_filters, matches, matches_module, module_pattern, rule_matches
from clew.records.plan import Action, Plan, Redact, Rule

if TYPE_CHECKING:
    from clew.instrument.probes.filtered import FilteredModule

_ACTIONS = "clew.instrument.probes.actions"
_FILTERED = "clew.instrument.probes.filtered"
_OURS = ("clew.instrument.", "clew.records.")


class PlanChooser:
    """A plan, asked module by module."""

    def __init__(self, plan: Plan) -> None:
        self._rules = tuple(enumerate(plan.rules))
        redaction.use(plan.redact)  # a plan that is changed is put in place before it is recorded by
        if any(rule.actions for rule in plan.rules):
            importlib.import_module(_ACTIONS)  # now, not while the program imports something
            from clew.instrument.probes import identities  # which plans without actions do without

            identities.use(plan.entities)
        self._redact = plan.redact
        self._filters = frozenset(index for index, rule in self._rules if has_filters(rule))
        if self._filters:
            importlib.import_module(_FILTERED)

    @property
    def asks_classes(self) -> bool:
        """Do rules ask which classes a function's class descends from?"""
        return any(target.classes for _, rule in self._rules for target in (rule.target, *rule.excepts))

    def names(self, module: str) -> bool:
        """Could a rule choose functions of this module, judging by its name alone?"""
        return not _is_ours(module) and any(module_pattern(rule.target.module).match(module) for _, rule in self._rules)

    def of_module(self, module: str, file: str, *, just_loaded: bool = False) -> ModuleChooser | None:
        """What decides for the code of `module`, which was compiled from `file`; None when no rule names it. Code that was
        `just_loaded` is of the file as it is now."""
        if not self.names(module):
            return None
        file = os.path.abspath(file)
        rules = [(index, rule) for index, rule in self._rules if matches_module(rule.target, module, file)]
        state = sites.state_of(file) if just_loaded else (0, 0)
        return ModuleChooser(module, file, rules, state, self._filters, redact=self._redact) if rules else None


class ModuleChooser:
    """What decides for the code of one module."""

    def __init__(
        self,
        module: str,
        file: str,
        rules: Sequence[tuple[int, Rule]],
        state: tuple[int, int] = (0, 0),
        filters: frozenset[int] = frozenset(),
        *,
        redact: Redact | None = None,
    ) -> None:
        """`filters` are the numbers of rules of which names alone do not tell what they mean; `redact` is what actions hide."""
        self._redact = redact
        self._module, self._file, self._rules, self._state = module, file, rules, state
        self._filters = filters
        self._filtered: FilteredModule | None = None

    def __call__(self, code: CodeType) -> Probes | None:
        chosen = self._chosen(code)
        if not chosen:
            return None
        site = self._site(code, chosen[0][0])
        actions: list[tuple[Action, str]] = [(action, rule.origin) for _, rule in chosen for action in rule.actions]
        if not actions:
            return Probes(site)
        from clew.instrument.probes.actions import compile_actions  # which plans without actions do without

        return compile_actions(site, parameters(code), f"{self._module}:{code.co_qualname}", actions)

    def wish(self, code: CodeType) -> object | None:
        """What is wanted of `code` and the code nested in it: equal for equal wishes; None when nothing is."""
        chosen = self._chosen(code) if is_function(code) else []
        own = [(rule.origin, rule.actions, rule.actions and self._redact) for _, rule in chosen]
        nested = tuple(self.wish(constant) for constant in code.co_consts if type(constant) is CodeType)
        return (tuple(own), nested) if own or any(nested) else None

    def _chosen(self, code: CodeType) -> list[tuple[int, Rule]]:
        return [
            (index, rule)
            for index, rule in self._rules
            if (
                self._passes(rule, code)
                if index in self._filters
                else rule_matches(rule, self._module, code.co_qualname, self._file)
            )
            and (not rule.types or annotated.fits(rule, code, self._file))
        ]

    def _passes(self, rule: Rule, code: CodeType) -> bool:
        if not matches(rule.target, self._module, code.co_qualname, self._file):
            return False
        if self._filtered is None:
            from clew.instrument.probes.filtered import FilteredModule  # which plans without filters do without

            self._filtered = FilteredModule(self._module, self._file)
        return self._filtered.means(rule, code)

    def _site(self, code: CodeType, rule: int) -> int:
        """The same for the same code: what is switched off and on again, or exchanged, stays one function."""
        known = _sites.get(id(code))
        if known is not None:
            return known[1]
        site = sites.register(
            self._module, code.co_qualname, self._file, code.co_firstlineno, last_line(code), kind_of(code), rule,
            self._state,
        )  # fmt: skip
        _sites[id(code)] = code, site
        return site


_sites: dict[int, tuple[CodeType, int]] = {}
"""The site of code, by its id, where it may be asked for again. The code is held: an id must not become another's."""


def _is_ours(module: str) -> bool:
    return f"{module}.".startswith(_OURS)


def kind_of(code: CodeType) -> str:
    """The word for a function's code in `SiteInfo.kind`."""
    flags = code.co_flags
    if flags & CO_ASYNC_GENERATOR:
        return "async_generator"
    if flags & CO_COROUTINE:
        return "coroutine"
    if flags & CO_GENERATOR:
        return "generator"
    return "lambda" if code.co_name == "<lambda>" else "function"


def last_line(code: CodeType) -> int:
    """The last line that code was made from, nested functions included."""
    lines = [end for _, end, _, _ in code.co_positions() if end is not None]
    lines += [last_line(constant) for constant in code.co_consts if type(constant) is CodeType]
    return max(lines, default=code.co_firstlineno)
