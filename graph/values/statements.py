"""Statements of the program as steps of an explanation: what a line made, and which named values it was made from.

The flow has a node for each operation. A person reads lines: `total = price * count` has the value 42 because `price` is 14 and
`count` is 3. A statement joins the operations of one line in one call, up to the values that the line names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from clew.graph.values.effects.stores import CALLABLE
from clew.graph.values.flow import Flow, NodeKind
from clew.records.values.trace_format import Instruction

SourceLines = Callable[[str], Sequence[str]]
"""Returns the lines of a file, without line ends; empty if the file cannot be read."""
MOST_INPUTS = 12
MOST_WRITES = 4
_STATE = (NodeKind.ATTRIBUTE, NodeKind.ITEM, NodeKind.GLOBAL, NodeKind.CELL)
_DEFINITIONS = frozenset(
    {*_STATE, NodeKind.LOCAL, NodeKind.PARAMETER, NodeKind.RESULT, NodeKind.RAISED, NodeKind.EARLIER}
)
_LOCAL_READS = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST"})
_NAMED_READS = frozenset({
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS",
    "LOAD_ATTR", "LOAD_METHOD", "BINARY_SUBSCR", "FOR_ITER",
})  # fmt: skip
"""Instructions whose text in the source names the value that they read."""
_ITEM_READS = frozenset({"BINARY_SUBSCR"})
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_APPENDS = frozenset({"LIST_APPEND", "SET_ADD", "MAP_ADD"})
_LONGEST_TEXT = 60


@dataclass(frozen=True, slots=True)
class Input:
    """A value that a statement read, under the name that the statement has for it."""

    name: str
    node: int
    """The node that made the value: where the explanation goes on."""
    object: int
    read: int
    """The node of the read, in the statement's own call."""
    is_pointer: bool = False
    """Whether it only selected the value, as the key of an item or the object of an attribute."""


@dataclass(frozen=True, slots=True)
class Statement:
    node: int
    target: str
    """What the statement made, as the source names it: a variable, `self.total`, or "" where it has no name."""
    inputs: tuple[Input, ...]
    pointers: tuple[Input, ...]
    branches: tuple[int, ...] = ()
    """The BRANCH nodes inside the statement: of `a if b else c`, `and`, `or`."""
    more_inputs: int = 0
    """How many inputs were left out."""


def is_instance(flow: Flow, item: int) -> bool:
    """Return whether an object is an instance of a class of the program or a library, not a plain value or container."""
    return item >= 0 and flow.trace.objects[item].kind == "instance"


class Statements:
    """Reads statements out of a flow."""

    def __init__(self, flow: Flow, source: SourceLines) -> None:
        self.flow = flow
        self._source = source

    def of(self, node: int) -> Statement:
        """Return the statement that made a node."""
        inputs, pointers, branches = self._inputs(node)
        shown = inputs[:MOST_INPUTS]
        return Statement(
            node,
            self.target(node),
            tuple(shown),
            tuple(pointers[:MOST_INPUTS]),
            tuple(branches),
            len(inputs) - len(shown),
        )

    def target(self, node: int) -> str:
        """Return the name that a node's value was stored under."""
        flow = self.flow
        kind, at = flow.kind[node], flow.instruction[node]
        if kind == NodeKind.PARAMETER:
            return self._parameter(node)
        if kind == NodeKind.EARLIER:
            return flow.holders.get(node, (0, ""))[1]
        if at < 0 or kind in (NodeKind.RESULT, NodeKind.BRANCH, NodeKind.RAISED, NodeKind.CONSTANT, NodeKind.CALLED):
            return ""
        instruction = flow.code_of(node).instructions[at]
        if kind in (NodeKind.LOCAL, NodeKind.GLOBAL, NodeKind.CELL):
            return self._variable(node, instruction)
        if kind == NodeKind.ITEM and instruction.name in _APPENDS:
            return ""
        return self.segment(node)

    def _parameter(self, node: int) -> str:
        call = self.flow.calls[self.flow.call[node]]
        names = self.flow.trace.codes[call.code].variables
        for place, one in enumerate(call.parameters):
            if one == node and place < len(names):
                return names[place]
        return ""

    def _variable(self, node: int, instruction: Instruction) -> str:
        return instruction.text or self.flow.holders.get(node, (-1, ""))[1] or self.segment(node)

    def lines(self, file: str) -> Sequence[str]:
        """Return the lines of a source file; none if it cannot be read."""
        return self._source(file)

    def segment(self, node: int) -> str:
        """Return the source text of a node's instruction, on one line and shortened; "" if the source is not there."""
        flow = self.flow
        at = flow.instruction[node]
        if at < 0:
            return ""
        code = flow.code_of(node)
        one = code.instructions[at]
        lines = self._source(code.file)
        if not 0 < one.line <= one.end_line <= len(lines) or one.column < 0:
            return one.text or ""
        if one.line == one.end_line:
            text = lines[one.line - 1].encode()[one.column : one.end_column].decode(errors="replace")
        else:
            first = lines[one.line - 1].encode()[one.column :].decode(errors="replace")
            last = lines[one.end_line - 1].encode()[: one.end_column].decode(errors="replace")
            text = " ".join((first, *(line.strip() for line in lines[one.line : one.end_line - 1]), last.strip()))
        return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"

    def _inputs(self, node: int) -> tuple[list[Input], list[Input], list[int]]:
        flow = self.flow
        found: dict[tuple[str, int], Input] = {}
        selected: dict[tuple[str, int], Input] = {}
        seen: set[int] = set()
        branches: dict[int, None] = {}
        own = flow.control[node]
        first = flow.data[node]
        waiting = [(one, False, True) for one in reversed(first)]
        waiting += [(one, True, False) for one in flow.pointers[node]]
        while waiting:
            one, is_pointer, is_whole = waiting.pop()
            if one in seen or self._is_callable(one):
                continue
            seen.add(one)
            control = flow.control[one]
            is_part = flow.call[one] == flow.call[node] and flow.kind[one] in (NodeKind.EXPRESSION, NodeKind.CONSTANT)
            if is_part and control > own and flow.kind[control] == NodeKind.BRANCH:
                branches.setdefault(control)
            made = self._input(one, is_pointer=is_pointer, is_whole=is_whole)
            if made is not None:
                into = selected if is_pointer else found
                into.setdefault((made.name, made.node), made)
                waiting += [(deeper, True, False) for deeper in self._selectors(one)]
                continue
            if flow.kind[one] in (NodeKind.EXPRESSION, NodeKind.BRANCH):
                waiting += [(deeper, is_pointer, False) for deeper in reversed(flow.data[one])]
                waiting += [(deeper, True, False) for deeper in self._selectors(one)]
        if not found:
            # A container that came from nowhere else is explained by what was put into it.
            for write in self._writes(node):
                found[str(write), write] = Input(self.target(write), write, flow.object[write], write)
        plain = sorted(found.values(), key=lambda one: is_instance(flow, one.object))
        others = [one for key, one in selected.items() if key not in found]
        return plain, others, list(branches)

    def _writes(self, node: int) -> list[int]:
        """Return the last writes of a node's container before it."""
        flow = self.flow
        item = flow.object[node]
        before = [write for write in flow.writes.get(item, ()) if write < node and flow.kind[write] == NodeKind.ITEM]
        return before[-MOST_WRITES:] if item >= 0 else []

    def _is_callable(self, node: int) -> bool:
        item = self.flow.object[node]
        return item >= 0 and self.flow.trace.objects[item].kind in CALLABLE

    def _selectors(self, node: int) -> Iterator[int]:
        """Return the keys and objects that a named read used, without the function of a call."""
        flow = self.flow
        if flow.kind[node] == NodeKind.EXPRESSION:
            yield from (one for one in flow.pointers[node] if flow.kind[one] != NodeKind.CALLED)

    def _input(self, node: int, *, is_pointer: bool, is_whole: bool) -> Input | None:
        """Return a node as an input, or None if it is only a part of the statement's expression.

        A call of code that was not followed is an input of its own, unless it is the whole expression.
        """
        flow = self.flow
        kind = flow.kind[node]
        item = flow.object[node]
        if kind in _DEFINITIONS:
            name = self.target(node) if kind != NodeKind.RESULT else self._result_name(node)
            return Input(name, node, item, node, is_pointer)
        if kind != NodeKind.EXPRESSION or not flow.data[node]:
            return None
        source = flow.data[node][0]
        if flow.kind[source] == NodeKind.RESULT and len(flow.data[node]) == 1:
            return Input(self.segment(node), source, item, node, is_pointer)
        name = flow.code_of(node).instructions[flow.instruction[node]].name
        if name in _LOCAL_READS:
            return Input(self.target(source), source, item, node, is_pointer)
        if name in _ITEM_READS or (name in _NAMED_READS and flow.kind[source] in _DEFINITIONS):
            return Input(self.segment(node), source, item, node, is_pointer)
        if name in _CALLS and not is_whole:
            return Input(self.segment(node), node, item, node, is_pointer)
        return None

    def _result_name(self, node: int) -> str:
        """Return a name for what a followed call returned to code that was not followed, such as `sum` of a generator."""
        name = self.flow.code_of(node).name.rpartition(".")[2]
        if not name.startswith("<"):
            return f"{name}(…)"
        value = next(iter(self.flow.data[node]), 0)
        return (self.segment(value) if self.flow.call[value] == self.flow.call[node] else "") or name
