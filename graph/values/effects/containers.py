"""What instructions do with containers: items, displays, unpacking and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.graph.values.effects.stores import store_item
from clew.graph.values.flow import NodeKind

if TYPE_CHECKING:
    from clew.graph.values.replay import Frame, Replay


def store_subscript(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    value, container, key = frame.operands
    store_item(replay, frame, at, replay.flow.object[container], key, value, (container, key))


def delete_item(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    container, key = frame.operands
    made = replay.node(NodeKind.ITEM, frame, at, -1, (), (container, key))
    place = replay.flow.object[container]
    replay.state.wrote_item(place, replay.flow.object[key], made)
    replay.state.changed(place, made)
    replay.flow.holders[made] = (place, "")


def load_item(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    container, key = frame.operands
    for item in pushed:
        place = replay.flow.object[container]
        found = _at_position(replay, place, replay.flow.object[key]) or replay.state.element(
            place, item, replay.flow.object[key]
        )
        if frame.results:
            made = replay.node(NodeKind.EXPRESSION, frame, at, item, frame.results, (container, key))
        elif found:
            made = replay.node(NodeKind.EXPRESSION, frame, at, item, (found,), (container, key))
        else:
            data = (container, *replay.state.all_of(place)[-8:])
            made = replay.node(NodeKind.EXPRESSION, frame, at, item, data, (key,))
        if replay.state.is_container(item) and item not in replay.state.writes:
            replay.state.filled(item, made)
            replay.state.link(item, (place,), made)
        frame.stack.append(made)


def _at_position(replay: Replay, container: int, index: int) -> int:
    """Return the node of an element of a tuple or list by its index; 0 if that is not known."""
    positions = replay.state.positions.get(container)
    if positions is None or index < 0 or replay.objects[index].kind != "int":
        return 0
    number = int(replay.objects[index].text or 0)
    return positions[number] if -len(positions) <= number < len(positions) else 0


def build(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    operands, flow, state = frame.operands, replay.flow, replay.state
    for item in pushed:
        made = replay.node(NodeKind.EXPRESSION, frame, at, item, operands)
        state.filled(item, made)
        name = frame.code.instructions[at].name
        if name == "BUILD_MAP":
            for key, value in zip(operands[::2], operands[1::2], strict=False):
                state.items[item, state.key(flow.object[key])] = value or made
        elif name == "BUILD_CONST_KEY_MAP":
            keys = state.contents.get(flow.object[operands[-1]], (0, ()))[1]
            for key_object, value in zip(keys, operands, strict=False):
                state.items[item, state.key(key_object)] = value or made
        for value in operands:
            state.elements[item, flow.object[value]] = value or made
        if name in ("BUILD_TUPLE", "BUILD_LIST"):
            state.positions[item] = [value or made for value in operands]
        frame.stack.append(made)


def append(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """Put the operand into the container further down, as comprehensions do."""
    arg, stack = frame.code.instructions[at].arg, frame.stack
    container = stack[-arg] if arg <= len(stack) else 0
    key = frame.operands[-2] if len(frame.operands) > 1 else 0
    place = replay.flow.object[container]
    length = replay.state.lengths.get(place)
    store_item(replay, frame, at, place, key, frame.operands[-1], (container, key))
    if length is not None and frame.code.instructions[at].name == "LIST_APPEND":
        replay.state.lengths[place] = length + 1


def extend(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    arg, stack, flow, state = frame.code.instructions[at].arg, frame.stack, replay.flow, replay.state
    container = flow.object[stack[-arg]] if arg <= len(stack) else -1
    source = frame.operands[-1]
    item = flow.object[source]
    made = replay.node(NodeKind.EXPRESSION, frame, at, container, (source, *state.all_of(item), *frame.results))
    if container < 0:
        return
    state.changed(container, made)
    is_dict = item >= 0 and replay.objects[item].kind == "dict"
    elements = state.contents.get(item, (0, ()))[1] or [one for (where, one) in state.elements if where == item][:200]
    for place, element in enumerate(elements):
        if is_dict and not place % 2:
            key = state.key(element)
            state.items[container, key] = state.items.get((item, key), made)
        else:
            state.elements[container, element] = state.elements.get((item, element), made)


def unpack(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    container = frame.operands[-1]
    place = replay.flow.object[container]
    positions = replay.state.positions.get(place, ())
    for number, item in enumerate(pushed, 1):
        # The first element is on top.
        found = positions[-number] if len(positions) == len(pushed) else replay.state.element(place, item)
        data = (found,) if found else (container, *frame.results)
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, item, data, (container,) if found else ()))


def iterate(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    (source,) = frame.operands[-1:] or (0,)
    item = replay.flow.object[source]
    for iterator in pushed:
        if iterator == item:
            frame.stack.append(source)
            continue
        behind = replay.state.behind(item)
        if behind:
            replay.state.sources[iterator] = behind
        frame.stack.append(replay.node(NodeKind.EXPRESSION, frame, at, iterator, (source, *frame.results)))


def next_item(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """A loop got its next item, or ended."""
    flow, state, stack = replay.flow, replay.state, frame.stack
    iterator = frame.operands[-1] if frame.operands else stack[-1] if stack else 0
    if frame.operands:
        stack.append(iterator)
    source = flow.object[iterator]
    behind = state.behind(source)
    shapes = [writes[-1] for one in behind if (writes := state.writes.get(one))]
    item = pushed[-1] if pushed else -1
    if item < 0:
        frame.branches[at] = replay.node(NodeKind.BRANCH, frame, at, -1, (iterator, *frame.results), shapes)
        return
    found = state.element(source, item)
    if frame.results:
        made = replay.node(NodeKind.EXPRESSION, frame, at, item, frame.results, (iterator,))
    elif found:
        made = replay.node(NodeKind.EXPRESSION, frame, at, item, (found,), (iterator,))
    else:
        made = replay.node(NodeKind.EXPRESSION, frame, at, item, (iterator, *shapes))
    if state.is_container(item) and item not in state.writes:
        state.filled(item, made)
        state.link(item, (source,), made)
    frame.branches[at] = replay.node(NodeKind.BRANCH, frame, at, -1, (made,), (iterator, *shapes))
    stack.append(made)
