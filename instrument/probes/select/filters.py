"""Evaluate a plan's filters (`decorated by`, `in subclasses of` …) in this process.

The module is loaded only for plans with filters. The source of a module is read when a rule with such a filter names
the module. Invariant: an evaluation never runs code of the program. If the source does not show the bases of a class,
the evaluation waits until the module is imported.
"""

from __future__ import annotations

import sys
from types import CodeType

from clew.instrument.probes import sites
from clew.instrument.probes.bytecode.opcodes import CO_ASYNC_GENERATOR, CO_COROUTINE
from clew.records.plan.plan import Rule
from clew.source.class_hierarchy import Ancestry, loaded_object
from clew.source.declarations import Declared, Function, Names, declared, parse
from clew.source.module_lookup import names_in
from clew.source.rule_filters import Candidate, asks_source, meant

undecided: set[str] = set()
"""Modules with functions that a rule can only match or exclude after their classes exist."""
_noted: set[str] = set()


class FilteredModule:
    """The functions of one module, for rules with filters."""

    def __init__(self, module: str, file: str) -> None:
        self._module, self._file = module, file
        self._found: Declared | None = None
        self._by_place: dict[tuple[int, str], Function] | None = None
        self._ancestry = Ancestry(self._names_of, lambda name: loaded_object(name, sys.modules))

    def means(self, rule: Rule, code: CodeType) -> bool:
        function = self._candidate(code, asks_source(rule))
        if function is None:
            return False
        answer = meant(rule, function, self._ancestry)
        if answer.doubt:
            undecided.add(self._module)
        return answer.holds and not answer.doubt

    def _candidate(self, code: CodeType, from_source: bool) -> Candidate | None:
        is_async = bool(code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR))
        known = Candidate((self._module,), code.co_qualname, self._file, is_async)
        if not from_source:
            return known
        function = self._functions().get((code.co_firstlineno, code.co_qualname))
        if function is None:
            return None
        names = (*function.decorators, *(name for group in function.resolved for name in group))
        return known._replace(decorators=names, class_name=function.class_name)

    def _functions(self) -> dict[tuple[int, str], Function]:
        if self._by_place is None:
            self._by_place = {}
            try:
                with open(self._file, "rb") as opened:
                    source = opened.read()
                is_package = self._file.endswith("__init__.py")
                self._found = declared(source, parse(source, self._file), self._module, is_package)
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                if self._module not in _noted:
                    _noted.add(self._module)
                    sites.note(f"{self._module}: spec filters were not applied: source not found ({error})")
            else:
                self._by_place = {(each.first_line, each.qualname): each for each in self._found.functions}
        return self._by_place

    def _names_of(self, module: str) -> Names | None:
        return self._found.names if module == self._module and self._found else names_in(module)
