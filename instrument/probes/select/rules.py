"""Select the functions of a module that the plan records as call scopes, with their actions, and register them.

Invariant: a module that no rule names costs one check of its name; clew's own modules are never recorded.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING

from clew.instrument.probes import sites
from clew.instrument.probes.bytecode.opcodes import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from clew.instrument.probes.bytecode.rewrite import Probes, is_function, parameters
from clew.instrument.probes.select import annotations as annotated
from clew.instrument.recorder import redaction
from clew.records.plan.match import has_filters, matches, matches_module, module_pattern, rule_matches
from clew.records.plan.plan import Action, Plan, Redact, Rule

if TYPE_CHECKING:
    from clew.instrument.probes.select.filters import FilteredModule

_ACTIONS = "clew.instrument.probes.actions.compile"
_FILTERED = "clew.instrument.probes.select.filters"
_OURS = ("clew.instrument.", "clew.records.", "clew.source.")


class PlanChooser:
    """A plan that returns a `ModuleChooser` for each module it names."""

    def __init__(self, plan: Plan) -> None:
        self._rules = tuple(enumerate(plan.rules))
        redaction.use(plan.redact)  # a changed plan must be active before the first record that uses it
        if any(rule.actions for rule in plan.rules):
            importlib.import_module(_ACTIONS)  # now rather than during an import of the program
            from clew.instrument.probes.actions import entity_ids  # only plans with actions need it

            entity_ids.use(plan.entities)
        self._redact, self._writes = plan.redact, plan.writes
        self._filters = frozenset(index for index, rule in self._rules if has_filters(rule))
        if self._filters:
            importlib.import_module(_FILTERED)

    @property
    def writes(self) -> bool:
        """Return whether the plan records what functions write."""
        return self._writes

    @property
    def asks_classes(self) -> bool:
        """Return whether rules depend on the base classes of a function's class."""
        return any(target.classes for _, rule in self._rules for target in (rule.target, *rule.excepts))

    def names(self, module: str) -> bool:
        """Return whether a rule could match functions of this module, based only on its name."""
        return not _is_ours(module) and any(module_pattern(rule.target.module).match(module) for _, rule in self._rules)

    def of_module(self, module: str, file: str, *, just_loaded: bool = False) -> ModuleChooser | None:
        """Return the chooser for the code of `module`, compiled from `file`; None if no rule names the module.

        Code that was `just_loaded` has the current state of the file.
        """
        if not self.names(module):
            return None
        file = os.path.abspath(file)
        rules = [(index, rule) for index, rule in self._rules if matches_module(rule.target, module, file)]
        state = sites.state_of(file) if just_loaded else (0, 0)
        if not rules:
            return None
        return ModuleChooser(module, file, rules, state, self._filters, redact=self._redact, writes=self._writes)


class ModuleChooser:
    """The chooser for the code of one module."""

    def __init__(
        self,
        module: str,
        file: str,
        rules: Sequence[tuple[int, Rule]],
        state: tuple[int, int] = (0, 0),
        filters: frozenset[int] = frozenset(),
        *,
        redact: Redact | None = None,
        writes: bool = False,
    ) -> None:
        """`filters` are the indexes of rules that names alone cannot decide; `redact` lists values that actions hide.

        `writes`: also record which objects the functions change.
        """
        self._redact, self._writes = redact, writes
        self._module, self._file, self._rules, self._state = module, file, rules, state
        self._filters = filters
        self._filtered: FilteredModule | None = None

    def __call__(self, code: CodeType) -> Probes | None:
        chosen = self._chosen(code)
        if not chosen:
            return None
        site = self._site(code, chosen[0][0])
        actions: list[tuple[Action, str]] = [(action, rule.origin) for _, rule in chosen for action in rule.actions]
        probes = Probes(site)
        if actions:
            from clew.instrument.probes.actions.compile import compile_actions  # only plans with actions need it

            probes = compile_actions(site, parameters(code), f"{self._module}:{code.co_qualname}", actions)
        if self._writes:
            from clew.instrument.probes.select.writes import state_probes  # only plans with writes need it

            probes = probes._replace(states=state_probes(code, self._module, self._file))
        return probes

    def request(self, code: CodeType) -> object | None:
        """Return the requested recording of `code` and its nested code, or None if nothing is requested.

        Equal requests compare equal.
        """
        chosen = self._chosen(code) if is_function(code) else []
        hidden = self._redact if self._writes else None
        own = [
            (rule.origin, rule.actions, (rule.actions and self._redact) or hidden, self._writes) for _, rule in chosen
        ]
        nested = tuple(self.request(constant) for constant in code.co_consts if type(constant) is CodeType)
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
            from clew.instrument.probes.select.filters import FilteredModule  # only plans with filters need it

            self._filtered = FilteredModule(self._module, self._file)
        return self._filtered.means(rule, code)

    def _site(self, code: CodeType, rule: int) -> int:
        """Return the site of `code`, which is always the same for the same code.

        So a function keeps its identity if its recording is switched off and on again, or changed.
        """
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
"""Site by the id of the code, for later requests, with a reference to the code so that its id is not reused."""


def _is_ours(module: str) -> bool:
    return f"{module}.".startswith(_OURS)


def kind_of(code: CodeType) -> str:
    """Return the value of `SiteInfo.kind` for a function's code."""
    flags = code.co_flags
    if flags & CO_ASYNC_GENERATOR:
        return "async_generator"
    if flags & CO_COROUTINE:
        return "coroutine"
    if flags & CO_GENERATOR:
        return "generator"
    return "lambda" if code.co_name == "<lambda>" else "function"


def last_line(code: CodeType) -> int:
    """Return the last source line of code, including nested functions."""
    lines = [end for _, end, _, _ in code.co_positions() if end is not None]
    lines += [last_line(constant) for constant in code.co_consts if type(constant) is CodeType]
    return max(lines, default=code.co_firstlineno)
