"""What instructions do with variables: local ones, global ones, and those that an inner function shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.graph.values.effects.stores import CALLABLE, earlier
from clew.graph.values.flow import NodeKind

if TYPE_CHECKING:
    from clew.graph.values.replay import Frame, Replay


def _local(replay: Replay, frame: Frame, variable: int, item: int) -> int:
    """Return the node of a local variable that is read."""
    if item < 0:
        return 0
    found = frame.locals.get(variable, 0)
    if replay.objects[item].kind == "cell":
        # The cell of a variable that an inner function shares: a parameter becomes its first content.
        if found:
            replay.state.cells.setdefault(item, found)
        return replay.node(NodeKind.EXPRESSION, frame, frame.pending, item)
    if found and replay.flow.object[found] == item:
        if replay.state.lengths.get(item) == replay.flow.length.get(found):
            return found
        # The container has another number of items than when the variable got it.
        return replay.node(NodeKind.EXPRESSION, frame, frame.pending, item, (found,))
    made = replay.node(NodeKind.LOCAL, frame, frame.pending, item, (found,))
    frame.locals[variable] = made
    return made


def load_fast(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    variable = frame.code.instructions[at].arg
    frame.stack.extend(_local(replay, frame, variable, item) for item in pushed)


def load_two(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    arg = frame.code.instructions[at].arg
    for variable, item in zip((arg >> 4, arg & 15), pushed, strict=False):
        frame.stack.append(_local(replay, frame, variable, item))


def _assign(replay: Replay, frame: Frame, at: int, variable: int, value: int) -> None:
    made = frame.locals[variable] = replay.node(NodeKind.LOCAL, frame, at, replay.flow.object[value], (value,))
    if not frame.code.instructions[at].text:
        # The instruction assigns two variables.
        replay.flow.holders[made] = (-1, frame.code.variables[variable])


def store_fast(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    _assign(replay, frame, at, frame.code.instructions[at].arg, frame.operands[-1])


def store_two(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    arg = frame.code.instructions[at].arg
    _assign(replay, frame, at, arg >> 4, frame.operands[-1])
    _assign(replay, frame, at, arg & 15, frame.operands[-2])


def store_load(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    arg = frame.code.instructions[at].arg
    _assign(replay, frame, at, arg >> 4, frame.operands[-1])
    frame.stack.extend(_local(replay, frame, arg & 15, item) for item in pushed)


def delete_fast(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    frame.locals.pop(frame.code.instructions[at].arg, None)


def load_global(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    name = frame.code.instructions[at].text
    for item in pushed:
        if item < 0:
            frame.stack.append(0)
            continue
        written = replay.state.globals.get((frame.globals, name), 0)
        if not written and replay.objects[item].kind not in CALLABLE:
            written = earlier(replay, frame, item, (frame.globals, name))
            replay.state.globals[frame.globals, name] = written
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, item, (written,)))


def load_name(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    written = replay.state.globals.get((-2 - frame.call.number, frame.code.instructions[at].text), 0)
    if written and pushed:
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, pushed[-1], (written,)))
        return
    load_global(replay, frame, at, pushed)


def store_global(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    name, value = frame.code.instructions[at].text, frame.operands[-1]
    made = replay.node(NodeKind.GLOBAL, frame, at, replay.flow.object[value], (value,))
    replay.state.globals[frame.globals, name] = made
    replay.flow.holders[made] = (frame.globals, name)


def store_name(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    if frame.code.name == "<module>":
        store_global(replay, frame, at, pushed)
        return
    # The body of a class: its names are no globals.
    name, value = frame.code.instructions[at].text, frame.operands[-1]
    made = replay.node(NodeKind.LOCAL, frame, at, replay.flow.object[value], (value,))
    replay.state.globals[-2 - frame.call.number, name] = made


def load_deref(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    for item in pushed:
        written = replay.state.cells.get(frame.cell, 0) or frame.locals.get(frame.code.instructions[at].arg, 0)
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, item, (written,)))


def store_deref(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    value = frame.operands[-1]
    made = replay.node(NodeKind.CELL, frame, at, replay.flow.object[value], (value,))
    replay.state.cells[frame.cell] = made
