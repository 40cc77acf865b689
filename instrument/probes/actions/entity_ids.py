"""Compute the identity of the objects of a plan's entities: a value that is the same in every process.

Invariant: only the names of an object's class are used, and its own code is not called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from clew.instrument.probes.actions import values
from clew.instrument.probes.actions.expressions import Evaluate, compile_expression, reads_hidden
from clew.instrument.probes.select.module_names import AS_MAIN, module_name
from clew.instrument.recorder import redaction
from clew.records.plan.match import matches
from clew.records.plan.plan import EntityKind

_MOST_CLASSES = 4096

_kinds: list[tuple[EntityKind, Evaluate]] = []
_known: dict[int, tuple[type, Evaluate | None]] = {}
"""Result by the class's id, with a reference to the class, so that its id is not reused."""


def use(kinds: Sequence[EntityKind]) -> None:
    """Identify objects by these kinds from now on, and by their addresses where the identity is redacted."""
    visible = [kind for kind in kinds if kind.unique and not reads_hidden(kind.unique, redaction.current().hides)]
    _kinds[:] = [(kind, compile_expression(kind.unique or [], {"this": 0})) for kind in visible]
    _known.clear()


def identify(value: object) -> tuple[Any] | None:
    """Return the identity of `value` in a tuple of one; None when only its address identifies it."""
    if not _kinds:
        return None
    kind = type(value)
    known = _known.get(id(kind))
    if known is None:
        if len(_known) >= _MOST_CLASSES:
            _known.clear()
        known = _known[id(kind)] = kind, _of_class(kind)
    return (known[1]([value]),) if known[1] is not None else None


def _of_class(kind: type) -> Evaluate | None:
    for base in values.bases(kind):
        module, qualname = values.names_of(base)
        if module in AS_MAIN and (main := sys.modules.get(module)) is not None:
            file = getattr(main, "__file__", None)
            module = module_name(vars(main), file) if type(file) is str else module
        for entity, evaluate in _kinds:
            if matches(entity.target._replace(root=""), module, qualname, ""):
                return evaluate
    return None
