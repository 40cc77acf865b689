"""The flow of values: one node per value that an instruction made, with the nodes that it was made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from clew.records.values.trace_format import Code, ValueTrace


class NodeKind(IntEnum):
    """What made a value."""

    EXPRESSION = 0
    """An operation, a read, or a call of a function that was not followed."""
    CONSTANT = 1
    LOCAL = 2
    """A local variable was assigned."""
    PARAMETER = 3
    ATTRIBUTE = 4
    """An attribute was stored."""
    ITEM = 5
    """An item of a container was stored, or a container was changed by a method."""
    GLOBAL = 6
    CELL = 7
    """A variable that an inner function shares was assigned."""
    RESULT = 8
    """A function that was followed returned or yielded."""
    RAISED = 9
    BRANCH = 10
    """A branch was decided, or a loop got its next item."""
    EARLIER = 11
    """The value is older than the trace."""
    CALLED = 12
    """A call of a function that was followed; the calls above a value are found through it."""


@dataclass(slots=True, eq=False)
class Call:
    """One execution of a followed function; a generator or coroutine is one call however often it is entered."""

    number: int
    code: int
    thread: int
    caller: int
    """The number of the call that made it; -1 if that was not followed."""
    is_direct: bool
    """Whether the caller called it itself, not through code that was not followed."""
    node: int
    """The CALLED node; 0 without a caller."""
    parameters: list[int] = field(default_factory=list)
    """A PARAMETER node for each parameter; 0 for an unset one."""
    is_failed: bool = False
    """Whether an exception left it."""


@dataclass(eq=False)
class Flow:
    """The nodes as columns; node 0 means no value. A node depends only on nodes with lower numbers.

    `data` are the nodes that a value was computed from or copied from; `pointers` those that selected it (the object of an
    attribute, the key of an item, the function of a call); `control` is the branch, caught exception or call because of which
    it was computed.
    """

    trace: ValueTrace
    kind: list[int] = field(default_factory=lambda: [int(NodeKind.EARLIER)])
    call: list[int] = field(default_factory=lambda: [-1])
    instruction: list[int] = field(default_factory=lambda: [-1])
    object: list[int] = field(default_factory=lambda: [-1])
    data: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    pointers: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    control: list[int] = field(default_factory=lambda: [0])
    calls: list[Call] = field(default_factory=list)
    raised: dict[int, int] = field(default_factory=dict)
    """The RAISED node of each exception object: where it was raised first."""
    holders: dict[int, tuple[int, str]] = field(default_factory=dict)
    """For an ATTRIBUTE or an EARLIER node of an attribute: its object and name."""
    writes: dict[int, list[int]] = field(default_factory=dict)
    """By container: the nodes that changed which elements it has, in order."""
    last_change: dict[int, int] = field(default_factory=dict)
    """By object: the last node that changed it."""
    last_length: dict[int, int] = field(default_factory=dict)
    """By container: how many items it had when it was seen last."""
    ran: dict[int, bytearray] = field(default_factory=dict)
    """By code: 1 for each instruction that ran."""
    length: dict[int, int] = field(default_factory=dict)
    """For a node whose object is a container: its number of items when the node was made."""

    def __len__(self) -> int:
        return len(self.kind)

    def lines(self) -> dict[tuple[str, str], set[int]]:
        """Return the lines that ran, by file and qualified name of the function."""
        found: dict[tuple[str, str], set[int]] = {}
        for code, ran in self.ran.items():
            one = self.trace.codes[code]
            lines = found.setdefault((one.file, one.name), {one.line})
            lines.update(
                each.line for each, did_run in zip(one.instructions, ran, strict=True) if did_run and each.line
            )
        return found

    def code_of(self, node: int) -> Code:
        """Return the code that made a node."""
        return self.trace.codes[self.calls[self.call[node]].code]

    def instruction_name(self, node: int) -> str:
        """Return the name of the instruction that made a node; "" for a node without one."""
        at = self.instruction[node]
        return self.code_of(node).instructions[at].name if at >= 0 and self.call[node] >= 0 else ""

    def line_of(self, node: int) -> int:
        """Return the line that made a node; the function's first line for a parameter; 0 if it is not known."""
        if self.call[node] < 0:
            return 0
        code = self.code_of(node)
        at = self.instruction[node]
        return code.instructions[at].line if at >= 0 else code.line
