"""What identifies the objects that a plan's entities are: a value computed from the object, the same in every process.

Invariant: an object's class is judged by its names alone, and its own code is not asked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from clew.instrument.probes import values
from clew.instrument.probes.expressions import Evaluate, compile_expression, reads_hidden
from clew.instrument.probes.module_names import AS_MAIN, module_name
from clew.instrument.recorder import redaction
from clew.records.match import matches
from clew.records.plan import EntityKind

_MOST_CLASSES = 4096

_kinds: list[tuple[EntityKind, Evaluate]] = []
_known: dict[int, tuple[type, Evaluate | None]] = {}
"""By the class's id. The class is held: its id must not become another's."""


def use(kinds: Sequence[EntityKind]) -> None:
    """From here on objects are identified as these say; by their addresses, where that would tell what is redacted."""
    told = [kind for kind in kinds if kind.unique and not reads_hidden(kind.unique, redaction.current().hides)]
    _kinds[:] = [(kind, compile_expression(kind.unique or [], {"this": 0})) for kind in told]
    _known.clear()


def identify(value: object) -> tuple[Any] | None:
    """What identifies `value`, in a tuple of one; None when only its address does."""
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
