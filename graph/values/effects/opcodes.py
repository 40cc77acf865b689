"""What each instruction of CPython does with the values on the stack, as nodes of the flow.

An effect is called when its instruction has finished, with its operands already taken from the stack and the objects that it
pushed. Effects in `BEGIN` are called when the instruction begins. Instructions without an entry make a value of their operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clew.graph.values.effects import containers, variables
from clew.graph.values.effects.calls import finish_call
from clew.graph.values.effects.stores import CALLABLE, earlier, store_attribute
from clew.graph.values.flow import NodeKind

if TYPE_CHECKING:
    from clew.graph.values.replay import Frame, Replay

Effect = Callable[["Replay", "Frame", int, Sequence[int]], None]
NULL = -1


def finish_other(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """Make each pushed value from all operands, and from what followed calls returned."""
    for item in pushed:
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, item, _inputs(frame)) if item >= 0 else 0)


def _inputs(frame: Frame) -> list[int]:
    return frame.operands + frame.results if frame.results else frame.operands


def _whole(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """Make a value that depends on everything in its operands, such as a comparison of lists."""
    data = list(_inputs(frame))
    for node in frame.operands:
        if node:
            data += replay.state.all_of(replay.flow.object[node])
    for item in pushed:
        made = replay.node(NodeKind.EXPRESSION, frame, at, item, data) if item >= 0 else 0
        if made and replay.state.is_container(item):
            operands = [replay.flow.object[node] for node in frame.operands]
            if item in operands:
                replay.state.changed(item, made)
            else:
                replay.state.filled(item, made)
            replay.state.link(item, [one for one in operands if one >= 0 and one != item], made)
        frame.stack.append(made)


def _constant(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    for item in pushed:
        frame.stack.append(replay.node(NodeKind.CONSTANT, frame, at, item) if item >= 0 else 0)


def _copy(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    arg = frame.code.instructions[at].arg
    frame.stack.append(frame.stack[-arg] if arg <= len(frame.stack) else 0)


def _swap(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    arg, stack = frame.code.instructions[at].arg, frame.stack
    # An instruction table may count the two entries as taken and pushed again.
    if frame.table.pops[at]:
        stack.extend(frame.operands)
    if arg <= len(stack):
        stack[-1], stack[-arg] = stack[-arg], stack[-1]


def _text(frame: Frame, at: int) -> str:
    return frame.code.instructions[at].text


def _attribute_writer(replay: Replay, owner: int, name: str) -> int:
    """Return the node that wrote an attribute: of the object, of its classes, or of the module."""
    state, objects = replay.state, replay.objects
    found = state.attributes.get((owner, name), 0)
    if found or owner < 0:
        return found
    one = objects[owner]
    if one.kind == "module" and isinstance(one.extra, str):
        return state.globals.get((replay.module_globals.get(one.extra, -1), name), 0)
    kind = one if one.kind == "class" else objects[one.type] if one.type >= 0 else None
    for base in kind.extra if kind is not None and isinstance(kind.extra, list) else ():
        if isinstance(base, int) and (found := state.attributes.get((base, name), 0)):
            return found
    return 0


def _load_attribute(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    receiver = frame.operands[0]
    owner = replay.flow.object[receiver]
    value = next((item for item in pushed if item >= 0), NULL)
    if value >= 0:
        name = _text(frame, at)
        if name == "__dict__" and owner >= 0:
            replay.state.joined(owner, value)
        written = 0 if frame.results else _attribute_writer(replay, owner, name)
        if written and replay.flow.object[written] not in (NULL, value):
            # A change of the `__dict__` whose keys are not known, such as `update(limit=7)`, made it another value.
            written = max(written, replay.state.last_change_of_dict(owner))
        if not written and not frame.results and replay.objects[value].kind not in CALLABLE and owner >= 0:
            written = _unwritten(replay, frame, value, name)
        made = replay.node(NodeKind.EXPRESSION, frame, at, value, (written, *frame.results), (receiver,))
        replay.flow.holders[made] = (owner, name)
    is_first = True
    for item in pushed:
        if item < 0:
            frame.stack.append(0)
        elif is_first:
            frame.stack.append(made)
            is_first = False
        else:
            # The receiver of a method call keeps its own node where it is passed as `self`.
            frame.stack.append(receiver if item == owner else made)


def _unwritten(replay: Replay, frame: Frame, value: int, name: str) -> int:
    """Return the node of an attribute that no followed instruction wrote: the object's, if code that was not followed made it
    meanwhile, else one older than the trace."""
    flow, state, receiver = replay.flow, replay.state, frame.operands[0]
    owner = flow.object[receiver]
    if owner in flow.raised:
        return flow.raised[owner]
    birth = state.births.get(owner, 0)
    if birth and flow.kind[birth] == NodeKind.EXPRESSION and flow.instruction[birth] >= 0:
        made_by = flow.code_of(birth).instructions[flow.instruction[birth]].name
        if made_by.startswith("CALL") or made_by == "BINARY_OP":
            return receiver
    written = earlier(replay, frame, value, (owner, name))
    state.attributes[owner, name] = written
    return written


def _load_super(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    me = frame.operands[-1]
    for item in pushed:
        if item < 0:
            frame.stack.append(0)
        elif item == replay.flow.object[me]:
            frame.stack.append(me)
        else:
            frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, item, frame.results, frame.operands))


def _store_attribute(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    value, owner = frame.operands
    store_attribute(replay, frame, at, replay.flow.object[owner], _text(frame, at), value, (owner,))


def _delete_attribute(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    owner = replay.flow.object[frame.operands[-1]]
    made = replay.node(NodeKind.ATTRIBUTE, frame, at, NULL, (), frame.operands)
    replay.state.attributes[owner, _text(frame, at)] = made
    replay.flow.holders[made] = (owner, _text(frame, at))


def _send(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    if not pushed and frame.stack and frame.results:
        # Before CPython 3.12 the value replaces the awaited object.
        value = frame.results[-1]
        frame.stack[-1] = replay.node(NodeKind.EXPRESSION, frame, at, replay.flow.object[value], (value,))
    for item in pushed:
        if item < 0:
            frame.stack.append(0)
            continue
        data = frame.results[-1:] or [replay.state.origins.get(item, 0), *frame.operands]
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, item, data))


def _end_send(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """The awaited object goes, and the value stays."""
    if pushed:
        frame.stack.append(frame.operands[-1])


def _end_async_for(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """The exception that ended the loop is over."""
    frame.caught = 0
    _nothing(replay, frame, at, pushed)


def _yield_value(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """The generator was entered again: what was sent into it is the value of `yield`."""
    for item in pushed:
        found = next((node for node in frame.sent if node and replay.flow.object[node] == item), 0)
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, item, (found,)) if item >= 0 else 0)


def _enter_with(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    manager = frame.operands[-1] if frame.operands else 0
    for item in pushed[:-1]:
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, item, (), (manager,)))
    for item in pushed[-1:]:
        data = frame.results[-1:] or [manager]
        frame.stack.append(manager if item == replay.flow.object[manager] else replay.node(
            NodeKind.EXPRESSION, frame, at, item, data
        ))  # fmt: skip


def _push_exception(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    frame.stack.extend([0, *frame.operands] if frame.operands else [0])


def _pop_exception(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    frame.caught = 0


def _branch(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    tested = frame.operands or frame.stack[-1:]
    frame.branches[at] = replay.node(NodeKind.BRANCH, frame, at, NULL, tested)


def _branch_done(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    if pushed:
        frame.stack.extend(frame.operands)
    if frame.results:
        # A `__bool__` that was followed decided.
        branch = frame.branches[at]
        replay.flow.data[branch] += tuple(frame.results)


def _nothing(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """Nothing of interest is pushed."""
    frame.stack.extend([0] * len(pushed))


FINISH: dict[str, Effect] = {
    "LOAD_FAST": variables.load_fast,
    "LOAD_FAST_CHECK": variables.load_fast,
    "LOAD_FAST_AND_CLEAR": variables.load_fast,
    "LOAD_CLOSURE": variables.load_fast,
    "LOAD_FAST_LOAD_FAST": variables.load_two,
    "STORE_FAST": variables.store_fast,
    "STORE_FAST_MAYBE_NULL": variables.store_fast,
    "STORE_FAST_STORE_FAST": variables.store_two,
    "STORE_FAST_LOAD_FAST": variables.store_load,
    "DELETE_FAST": variables.delete_fast,
    "COPY": _copy,
    "SWAP": _swap,
    "PUSH_NULL": _nothing,
    "LOAD_CONST": _constant,
    "LOAD_ASSERTION_ERROR": _constant,
    "LOAD_GLOBAL": variables.load_global,
    "LOAD_NAME": variables.load_name,
    "LOAD_FROM_DICT_OR_GLOBALS": variables.load_name,
    "STORE_GLOBAL": variables.store_global,
    "STORE_NAME": variables.store_name,
    "LOAD_DEREF": variables.load_deref,
    "LOAD_CLASSDEREF": variables.load_deref,
    "LOAD_FROM_DICT_OR_DEREF": variables.load_deref,
    "STORE_DEREF": variables.store_deref,
    "LOAD_ATTR": _load_attribute,
    "LOAD_METHOD": _load_attribute,
    "LOAD_SUPER_ATTR": _load_super,
    "STORE_ATTR": _store_attribute,
    "DELETE_ATTR": _delete_attribute,
    "STORE_SUBSCR": containers.store_subscript,
    "DELETE_SUBSCR": containers.delete_item,
    "BINARY_SUBSCR": containers.load_item,
    "BUILD_LIST": containers.build,
    "BUILD_TUPLE": containers.build,
    "BUILD_SET": containers.build,
    "BUILD_MAP": containers.build,
    "BUILD_CONST_KEY_MAP": containers.build,
    "LIST_APPEND": containers.append,
    "SET_ADD": containers.append,
    "MAP_ADD": containers.append,
    "LIST_EXTEND": containers.extend,
    "SET_UPDATE": containers.extend,
    "DICT_UPDATE": containers.extend,
    "DICT_MERGE": containers.extend,
    "UNPACK_SEQUENCE": containers.unpack,
    "UNPACK_EX": containers.unpack,
    "GET_ITER": containers.iterate,
    "GET_YIELD_FROM_ITER": containers.iterate,
    "FOR_ITER": containers.next_item,
    "SEND": _send,
    "END_SEND": _end_send,
    "END_ASYNC_FOR": _end_async_for,
    "YIELD_VALUE": _yield_value,
    "BEFORE_WITH": _enter_with,
    "BEFORE_ASYNC_WITH": _enter_with,
    "PUSH_EXC_INFO": _push_exception,
    "POP_EXCEPT": _pop_exception,
    "COMPARE_OP": _whole,
    "CONTAINS_OP": _whole,
    "BINARY_OP": _whole,
    "BINARY_SLICE": _whole,
    "FORMAT_VALUE": _whole,
    "FORMAT_SIMPLE": _whole,
    "CONVERT_VALUE": _whole,
    "UNARY_NOT": _whole,
    "TO_BOOL": _whole,
    "LIST_TO_TUPLE": _whole,
    "CALL_INTRINSIC_1": _whole,
    "CALL": finish_call,
    "CALL_KW": finish_call,
    "CALL_FUNCTION_EX": finish_call,
}
_JUMPS = [
    f"{head}{test}"
    for head in ("POP_JUMP_IF_", "POP_JUMP_FORWARD_IF_", "POP_JUMP_BACKWARD_IF_")
    for test in ("TRUE", "FALSE", "NONE", "NOT_NONE")
]
_JUMPS += ["JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"]
FINISH |= dict.fromkeys(_JUMPS, _branch_done)
BEGIN: dict[str, Effect] = dict.fromkeys(_JUMPS, _branch)
