"""What did not run and could have changed a value: stores that were passed by, and methods that left an attribute alone.

A chain of values holds only what ran (Zhang et al. 2007 call the rest execution omission errors). The candidates are functions
that ran with the object in question, and did not write the attribute.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.values.chain import Chain
from clew.graph.values.flow import Flow, NodeKind

MOST = 6
_CHANGES = frozenset({NodeKind.ATTRIBUTE, NodeKind.ITEM, NodeKind.GLOBAL, NodeKind.CELL})
_STORES = frozenset({"STORE_ATTR", "DELETE_ATTR"})


@dataclass(frozen=True, slots=True)
class Omission:
    """A function that could have written an attribute and did not."""

    call: int
    """Its last call with the object."""
    attribute: str
    object: int
    line: int
    """The line of a store that did not run; 0 if the function has none."""
    step: int
    """The step of the chain that the attribute belongs to."""
    is_idle: bool = False
    """Whether it got arguments, returned None and changed nothing at all, in itself or a call below it."""


def omissions(flow: Flow, chain: Chain) -> list[Omission]:
    """Return the candidates, those with a store that did not run first, then by the step that they belong to."""
    wanted = _attributes(flow, chain)
    if not wanted:
        return []
    owners: dict[int, list[tuple[str, int]]] = {}
    for (owner, name), step in wanted.items():
        owners.setdefault(owner, []).append((name, step))
    wrote = {
        (flow.call[node], *flow.holders[node])
        for node in range(1, len(flow))
        if flow.kind[node] == NodeKind.ATTRIBUTE and node in flow.holders
    }
    idle = _idle_calls(flow)
    found: dict[tuple[int, int, str], Omission] = {}
    for call in flow.calls:
        first = call.parameters[0] if call.parameters else 0
        owner = flow.object[first] if first else -1
        for name, step in owners.get(owner, ()):
            if (call.number, owner, name) in wrote:
                continue
            line = _store_line(flow, call.code, name)
            is_maker = flow.trace.codes[call.code].name.rpartition(".")[2] in ("__init__", "__new__", "__post_init__")
            if line or is_maker or call.number in idle:
                is_idle = not line and not is_maker
                found[call.code, owner, "" if is_idle else name] = Omission(
                    call.number, name, owner, line, step, is_idle
                )
    ranked = sorted(found.values(), key=lambda one: (one.step, not one.line, -one.call))
    return ranked[:MOST]


def _idle_calls(flow: Flow) -> set[int]:
    """Return the calls that got an argument beside the object, returned None, and changed nothing."""
    busy: set[int] = set()
    returned: dict[int, int] = {}
    for node in range(1, len(flow)):
        kind = flow.kind[node]
        if kind in _CHANGES:
            call = flow.call[node]
            while call >= 0 and call not in busy:
                busy.add(call)
                call = flow.calls[call].caller
        elif kind == NodeKind.RESULT:
            returned[flow.call[node]] = flow.object[node]
    nothing = {item for item in returned.values() if item >= 0 and flow.trace.objects[item].kind == "none"}
    return {
        call.number
        for call in flow.calls
        if call.number not in busy and len(call.parameters) > 1 and returned.get(call.number, -1) in nothing
    }


def _attributes(flow: Flow, chain: Chain) -> dict[tuple[int, str], int]:
    """Return the attributes that the steps read or failed to read, with the first step of each."""
    found: dict[tuple[int, str], int] = {}
    for place, step in enumerate(chain.steps):
        for one in step.statement.inputs:
            for node in (one.read, one.node):
                holder = flow.holders.get(node)
                if holder is not None and holder[0] >= 0 and holder[1]:
                    found.setdefault(holder, place)
        missing = _missing_attribute(flow, step.node)
        if missing is not None:
            found.setdefault(missing, place)
    return {holder: place for holder, place in found.items() if _is_instance(flow, holder[0])}


def _is_instance(flow: Flow, item: int) -> bool:
    return flow.trace.objects[item].kind in ("instance", "exception", "class", "iterator")


def _missing_attribute(flow: Flow, node: int) -> tuple[int, str] | None:
    """Return the object and name of an attribute whose read raised."""
    if flow.kind[node] != NodeKind.RAISED or flow.instruction[node] < 0:
        return None
    instruction = flow.code_of(node).instructions[flow.instruction[node]]
    if instruction.name not in ("LOAD_ATTR", "LOAD_METHOD"):
        return None
    owners = [flow.object[one] for one in flow.data[node] if flow.object[one] >= 0]
    return (owners[0], instruction.text) if owners else None


def _store_line(flow: Flow, code: int, name: str) -> int:
    for one in flow.trace.codes[code].instructions:
        if one.name in _STORES and one.text == name:
            return one.line
    return 0
