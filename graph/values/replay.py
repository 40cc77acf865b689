"""Replay a value trace: from logged instructions to the flow of values.

The trace tells which objects each instruction pushed. The replay keeps a stack of nodes for each call beside it, so it knows
where each operand came from. What an instruction did with its operands is in `opcode_effects` and `call_effects`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.graph.values.control_dependence import branches_above
from clew.graph.values.effects.opcodes import BEGIN, FINISH, Effect, finish_other
from clew.graph.values.flow import Call, Flow, NodeKind
from clew.graph.values.object_state import ObjectState
from clew.records.values.trace_format import (
    CALL,
    CELL,
    CONTENTS,
    CUT,
    LENGTH,
    RAISE,
    RESUME,
    RETURN,
    STEP,
    UNWIND,
    YIELD,
    Code,
    ValueTrace,
)

_GENERATOR, _ASYNC_GENERATOR = 0x20, 0x200
_GENERATOR_FLAGS = _GENERATOR | 0x80 | _ASYNC_GENERATOR
"""Generators, coroutines and asynchronous generators."""
_INITIALIZERS = (".__init__", ".__new__")
_ENDS_QUIETLY = ("SEND", "END_SEND", "FOR_ITER", "END_FOR")
"""Instructions for which StopIteration is no error: it carries what an awaitable returned, or ends the loop."""
_AWAITED = -1
_ASYNC_GENERATOR_WRAPS = ("ASYNC_GEN_WRAP", "CALL_INTRINSIC_1")
Progress = Callable[[int, int], None]
"""Called with the number of words read and the total number; it may raise to cancel."""


class Frame:
    """The stack of nodes of one call."""

    __slots__ = (
        "branches",
        "call",
        "called",
        "caught",
        "cell",
        "code",
        "depth",
        "effects",
        "failed",
        "globals",
        "initialized",
        "locals",
        "next_cell",
        "number",
        "operands",
        "parent",
        "pending",
        "results",
        "sent",
        "stack",
        "table",
    )  # fmt: skip

    def __init__(self, code: Code, table: _Table, call: Call, parent: Frame | None, globals_: int) -> None:
        self.code = code
        self.table = table
        self.effects = table.effects
        self.call = call
        self.parent = parent
        self.globals = globals_
        self.stack: list[int] = []
        self.depth = 0
        self.pending = -1
        """The instruction that has begun and not finished; -1 for none."""
        self.operands: list[int] = []
        self.locals: dict[int, int] = {}
        self.branches: dict[int, int] = {}
        """By instruction: the newest BRANCH node."""
        self.results: list[int] = []
        """What followed calls returned or yielded during the pending instruction."""
        self.called = 0
        """The CALLED node of the pending instruction, once it called a followed function."""
        self.initialized = False
        """Whether the pending instruction called a followed `__init__` or `__new__`."""
        self.caught = 0
        """The RAISED node of the exception that is being handled."""
        self.failed = 0
        """The RAISED node of the exception that the pending instruction raised; `_AWAITED` if that only ended an await."""
        self.cell = self.next_cell = -1
        """The cell that the pending instruction uses, and the one that the next instruction will use."""
        self.sent: list[int] = []
        """What the caller could have sent into the generator."""

    @property
    def pending_name(self) -> str:
        return self.code.instructions[self.pending].name if self.pending >= 0 else ""


class _Table:
    """What is computed once for each code: the effect of each instruction, and the branches above it."""

    __slots__ = ("above", "begin", "effects", "pops", "ran")

    def __init__(self, code: Code) -> None:
        self.effects: list[Effect] = [FINISH.get(one.name, finish_other) for one in code.instructions]
        self.begin: list[Effect | None] = [BEGIN.get(one.name) for one in code.instructions]
        self.pops = [one.pops for one in code.instructions]
        self.above = branches_above(code.instructions)
        self.ran = bytearray(len(code.instructions))


class Replay:
    """Builds the flow of a trace. One instance replays one trace, in order."""

    def __init__(self, trace: ValueTrace) -> None:
        self.trace = trace
        self.flow = Flow(trace)
        self.state = ObjectState(trace)
        self.objects = trace.objects
        self._tables: dict[int, _Table] = {}
        self._frames: dict[int, Frame] = {}
        self._begun: dict[int, list[tuple[list[int], int, int]]] = {}
        """By code: generators that were made and did not run yet, as operands, CALLED node and caller."""
        self.module_globals: dict[str, int] = {}

    def run(self, progress: Progress | None = None) -> Flow:
        """Replay all events."""
        words = self.trace.events
        at, end = 0, len(words)
        told = 0
        frames = self._frames
        while at < end:
            head = words[at]
            kind, count = head & 255, head >> 8
            first = at + 1
            at = first + count
            if kind == STEP:
                self._step(frames[words[first]], words[first + 1], words[first + 2], words[first + 3 : at])
            elif kind == CALL:
                self._call(words[first:at])
            elif kind in (RETURN, YIELD):
                self._return(words[first], words[first + 1], is_over=kind == RETURN)
            elif kind == UNWIND:
                frames[words[first]].call.is_failed = True
            elif kind == RAISE:
                self._raise(frames[words[first]], words[first + 1])
            elif kind == RESUME:
                self._resume(words[first:at])
            elif kind == CONTENTS:
                self.state.contents[words[first]] = (words[first + 1], tuple(words[first + 2 : at]))
                self.state.lengths[words[first]] = words[first + 1]
            elif kind == LENGTH:
                self.state.lengths[words[first]] = words[first + 1]
            elif kind == CELL:
                frames[words[first]].next_cell = words[first + 1]
            elif kind == CUT:
                break
            if progress is not None and at - told > 1_000_000:
                told = at
                progress(at, end)
        self._note_changes()
        return self.flow

    def _note_changes(self) -> None:
        """Keep the last change of each object, by which a reader knows whether its state at the end is that of a step."""
        self.flow.last_length = self.state.lengths
        self.flow.writes = self.state.writes
        last = self.flow.last_change
        for container, writes in self.state.writes.items():
            last[container] = writes[-1]
        for (owner, _), node in self.state.attributes.items():
            if node > last.get(owner, 0) and self.flow.kind[node] == NodeKind.ATTRIBUTE:
                last[owner] = node

    def node(  # noqa: PLR0917  # the columns of a node
        self, kind: int, frame: Frame, at: int, item: int, data: Sequence[int] = (), pointers: Sequence[int] = ()
    ) -> int:
        """Add a node that a frame's instruction made."""
        flow = self.flow
        number = len(flow.kind)
        control = 0
        if at >= 0:
            branches = frame.branches
            for one in frame.table.above[at]:
                newest = branches.get(one, 0)
                control = max(control, newest)
        control = max(control, frame.caught)
        flow.kind.append(kind)
        flow.call.append(frame.call.number)
        flow.instruction.append(at)
        flow.object.append(item)
        flow.data.append(tuple([one for one in data if one]))
        flow.pointers.append(tuple([one for one in pointers if one]))
        flow.control.append(control or frame.call.node)
        if item >= 0:
            state = self.state
            state.origins[item] = number
            state.births.setdefault(item, number)
            length = state.lengths.get(item)
            if length is not None:
                flow.length[number] = length
        return number

    def called(self, frame: Frame) -> int:
        """Return the CALLED node of a frame's pending instruction."""
        if not frame.called:
            flow = self.flow
            # The arguments are not data of the call itself: each parameter has its own.
            frame.called = self.node(NodeKind.CALLED, frame, frame.pending, -1, (), frame.operands[:1])
            flow.object[frame.called] = -1
        return frame.called

    def object_of(self, node: int) -> int:
        return self.flow.object[node]

    def _step(self, frame: Frame, at: int, depth: int, pushed: Sequence[int]) -> None:
        if frame.pending >= 0:
            self._finish(frame, depth, pushed)
        stack = frame.stack
        if len(stack) > depth:
            del stack[depth:]
        while len(stack) < depth:
            stack.append(0)
        frame.pending, frame.depth = at, depth
        frame.table.ran[at] = 1
        frame.cell, frame.next_cell = frame.next_cell, -1
        pops = frame.table.pops[at]
        frame.operands = stack[depth - pops :] if pops else []
        if frame.results:
            frame.results = []
        frame.called = frame.failed = 0
        frame.initialized = False
        begin = frame.table.begin[at]
        if begin is not None:
            begin(self, frame, at, ())

    def _finish(self, frame: Frame, depth: int, pushed: Sequence[int]) -> None:
        at = frame.pending
        stack = frame.stack
        if frame.failed == _AWAITED:
            # The awaited object is below what was sent into it. Before CPython 3.12 the value replaces it.
            frame.failed = 0
            frame.operands = stack[frame.depth - 2 : frame.depth - 1]
            del stack[max(0, depth - 1) :]
            frame.effects[at](self, frame, at, pushed[-1:])
            return
        if frame.failed:
            # A handler begins: the stack is what the exception table says, then the exception.
            del stack[max(0, depth - len(pushed)) :]
            stack.extend(frame.failed if one >= 0 else 0 for one in pushed)
            frame.caught, frame.failed = frame.failed, 0
            return
        pops = frame.table.pops[at]
        if pops:
            del stack[len(stack) - pops :]
        frame.effects[at](self, frame, at, pushed)

    def _call(self, words: Sequence[int]) -> None:
        number, code_number, parent_number, direct, thread, globals_ = words[:6]
        code = self.trace.codes[code_number]
        table = self._tables.get(code_number)
        if table is None:
            table = self._tables[code_number] = _Table(code)
            self.flow.ran[code_number] = table.ran
        parent = self._frames.get(parent_number)
        operands: list[int] = []
        made_by = 0
        caller = parent.call.number if parent is not None else -1
        generator = self._take_generator(code_number, words[6:]) if code.flags & _GENERATOR_FLAGS else None
        if generator is not None:
            operands, made_by, caller = generator
        elif parent is not None:
            operands, made_by = parent.operands, self.called(parent)
            if code.name.endswith(_INITIALIZERS):
                parent.initialized = True
        call = Call(len(self.flow.calls), code_number, thread, caller, bool(direct), made_by)
        self.flow.calls.append(call)
        frame = self._frames[number] = Frame(code, table, call, parent, globals_)
        self.module_globals.setdefault(code.module, globals_)
        taken: set[int] = set()
        for place, item in enumerate(words[6:]):
            if item < 0:
                call.parameters.append(0)
                continue
            node = self.node(NodeKind.PARAMETER, frame, -1, item, self._argument(operands, item, taken))
            if self.objects[item].kind in ("tuple", "dict") and not self.flow.data[node]:
                # *args and **kwargs are new containers of the arguments.
                self.state.filled(item, node)
                for element in self.state.contents.get(item, (0, ()))[1]:
                    found = self._argument(operands, element, set())
                    if found:
                        self.state.elements[item, element] = found[0]
                self.flow.data[node] = tuple(one for one in operands[1:] if one)
            call.parameters.append(node)
            frame.locals[place] = node

    def _argument(self, operands: Sequence[int], item: int, taken: set[int]) -> tuple[int, ...]:
        """Return the node of the argument that became a parameter: the same object among the operands, or an element of one."""
        flow = self.flow
        for place, node in enumerate(operands):
            if node and flow.object[node] == item and place not in taken:
                taken.add(place)
                return (node,)
        for node in operands:
            container = flow.object[node] if node else -1
            if container >= 0:
                found = self.state.element(container, item)
                if found:
                    return (found, node)
        return ()

    def made_generator(self, code: int, operands: list[int], called: int, caller: int) -> None:
        """Remember the call of a generator function, whose frame begins when it is entered first."""
        self._begun.setdefault(code, []).append((operands, called, caller))

    def _take_generator(self, code: int, parameters: Sequence[int]) -> tuple[list[int], int, int] | None:
        waiting = self._begun.get(code)
        if not waiting:
            return None
        flow = self.flow
        wanted = {item for item in parameters if item >= 0}
        # The one whose arguments are the most parameters; of equal ones the oldest.
        best = max(
            range(len(waiting)),
            key=lambda at: (len(wanted & {flow.object[node] for node in waiting[at][0] if node}), -at),
        )
        return waiting.pop(best)

    def _resume(self, words: Sequence[int]) -> None:
        frame = self._frames[words[0]]
        parent = self._frames.get(words[1])
        frame.parent = parent
        frame.sent = parent.operands if parent is not None else []
        if parent is not None:
            self.called(parent)

    def _return(self, number: int, item: int, *, is_over: bool) -> None:
        frame = self._frames[number]
        at = frame.pending
        code = frame.code
        if at >= 0 and code.instructions[at].name == "RETURN_CONST":
            value = self.node(NodeKind.CONSTANT, frame, at, item)
        elif at >= 0 and frame.operands and code.instructions[at].name not in ("SEND", "RESUME"):
            value = frame.operands[-1]
        else:
            value = frame.results[-1] if frame.results else 0
        if not is_over and code.flags & _ASYNC_GENERATOR:
            value, item = self._unwrapped(frame, value, item)
        result = self.node(NodeKind.RESULT, frame, at, item, (value,))
        parent = frame.parent
        # What a generator returns at its end is only for `yield from`.
        is_end = is_over and code.flags & _GENERATOR and (parent is None or parent.pending_name != "SEND")
        if parent is not None and not is_end:
            parent.results.append(result)
        if is_over:
            frame.pending = -1
            del self._frames[number]

    def _unwrapped(self, frame: Frame, value: int, item: int) -> tuple[int, int]:
        """Return the node and the object that an asynchronous generator yields, without the interpreter's wrapper of it."""
        flow = self.flow
        at = flow.instruction[value]
        inner = flow.data[value][:1]
        if not inner or flow.call[value] != frame.call.number or at < 0:
            return value, item
        if frame.code.instructions[at].name not in _ASYNC_GENERATOR_WRAPS:
            return value, item
        return inner[0], flow.object[inner[0]]

    def _raise(self, frame: Frame, item: int) -> None:
        if frame.pending_name in _ENDS_QUIETLY and self._is_stop(item):
            frame.failed = _AWAITED if frame.pending_name == "SEND" else 0
            return
        known = self.flow.raised.get(item)
        if known is None:
            at = frame.pending
            deps = list(frame.operands) + frame.results
            name = frame.code.instructions[at].name if at >= 0 else ""
            if name not in ("RAISE_VARARGS", "RERAISE"):
                for node in frame.operands:
                    deps += self.state.all_of(self.flow.object[node]) if node else ()
            elif name == "RERAISE" and frame.caught:
                deps = [frame.caught]
            known = self.flow.raised[item] = self.node(NodeKind.RAISED, frame, at, item, deps)
        frame.failed = known

    def _is_stop(self, item: int) -> bool:
        kind = self.objects[item].type if item >= 0 else -1
        return kind >= 0 and (self.objects[kind].text or "").rpartition(".")[2] == "StopIteration"


def replay(trace: ValueTrace, progress: Progress | None = None) -> Flow:
    """Return the flow of values of a trace."""
    return Replay(trace).run(progress)
