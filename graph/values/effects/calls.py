"""What a call did with the values that it got: a followed function returned one, or a function in C made one.

Functions in C are not followed. The common ones are known by name: methods of containers, iterators, copies, `setattr`. Any
other is taken to use all its arguments, and all that containers among them hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.graph.values.effects.stores import store_attribute, store_item
from clew.graph.values.flow import NodeKind
from clew.graph.values.object_state import MOST_WRITES

if TYPE_CHECKING:
    from clew.graph.values.replay import Frame, Replay

_PUTS_ONE = frozenset({"append", "add", "appendleft", "insert", "heappush", "insort", "insort_right", "insort_left"})
_PUTS_MANY = frozenset(
    {"extend", "extendleft", "update", "difference_update", "intersection_update", "symmetric_difference_update"}
)
_SETS_ITEM = frozenset({"setdefault", "__setitem__"})
_TAKES = frozenset({"pop", "popitem", "popleft", "remove", "discard", "heappop", "heapreplace", "heappushpop"})
_REARRANGES = frozenset({"clear", "sort", "reverse", "rotate", "move_to_end", "heapify", "__delitem__"})
_CHANGES = _PUTS_ONE | _PUTS_MANY | _SETS_ITEM | _TAKES | _REARRANGES
_GETS = frozenset(
    {"get", "pop", "__getitem__", "setdefault", "popleft", "popitem", "heappop", "heappushpop", "heapreplace"}
)
_ITERATES = frozenset(
    {"keys", "values", "items", "iter", "__iter__", "reversed", "enumerate", "zip", "map", "filter", "chain"}
)
_ON_FIRST = frozenset(
    {"heappush", "heappop", "heapreplace", "heappushpop", "heapify", "insort", "insort_right", "insort_left"}
)
"""Functions that change their first argument, as methods change their receiver."""
_GENERATOR_FLAGS = 0x20 | 0x80 | 0x200


@dataclass(frozen=True, slots=True)
class Called:
    """A call taken apart. Each argument is a node."""

    function: int
    receiver: int
    """The node of the receiver; 0 for none."""
    receiver_object: int
    arguments: list[int]
    """Without the receiver."""
    name: str
    kind: str
    """The kind of the function's object, such as "function", "builtin" or "class"."""
    function_object: int


def finish_call(replay: Replay, frame: Frame, at: int, pushed: Sequence[int]) -> None:
    """Add the node of a call's result, and the nodes of what it changed."""
    item = pushed[-1] if pushed else -1
    called = _take_apart(replay, frame, at)
    made = _result(replay, frame, at, item, called)
    if pushed:
        frame.stack.append(made)


def _take_apart(replay: Replay, frame: Frame, at: int) -> Called:
    flow, operands = replay.flow, frame.operands
    name = frame.code.instructions[at].name
    if name == "CALL_FUNCTION_EX":
        # NULL, function, tuple of arguments, dict of keyword arguments; later versions have NULL behind the function.
        function = next((node for node in operands[:2] if node), 0)
        arguments = []
        for node in operands[2:]:
            item = flow.object[node]
            found = [one for (where, _), one in _elements(replay, item)] if item >= 0 else []
            arguments += found or ([node] if node else [])
    elif operands and not operands[0]:
        function, arguments = operands[1] if len(operands) > 1 else 0, operands[2:]
    elif len(operands) > 1 and not operands[1]:
        function, arguments = operands[0], operands[2:]
    else:
        function, arguments = operands[0] if operands else 0, operands[1:]
    if name == "CALL_KW" and arguments:
        arguments = arguments[:-1]
    place = flow.object[function]
    if place < 0:
        return Called(function, 0, -1, list(arguments), "", "other", -1)
    one = replay.objects[place]
    text = one.text or ""
    receiver = receiver_object = 0
    if one.kind == "builtin" and isinstance(one.extra, list):
        receiver_object = one.extra[0] if isinstance(one.extra[0], int) else -1
        if receiver_object >= 0 and replay.objects[receiver_object].kind == "module":
            receiver_object = -1
        elif receiver_object < 0 and "." in str(text) and arguments:
            # A method descriptor: the receiver is the first argument.
            receiver, arguments = arguments[0], arguments[1:]
            receiver_object = flow.object[receiver]
        elif receiver_object >= 0:
            receiver = next(iter(flow.pointers[function]), 0)
    elif one.kind == "method":
        receiver_object = -1
        receiver = next(iter(flow.pointers[function]), 0)
    else:
        receiver_object = -1
    short = str(text).rpartition(".")[2]
    return Called(function, receiver, receiver_object, list(arguments), short, one.kind, place)


def _elements(replay: Replay, container: int) -> list[tuple[tuple[int, int], int]]:
    _, elements = replay.state.contents.get(container, (0, ()))
    pairs = (((container, one), replay.state.elements.get((container, one), 0)) for one in elements)
    return [(pair, node) for pair, node in pairs if node]


def _result(replay: Replay, frame: Frame, at: int, item: int, called: Called) -> int:
    flow, state = replay.flow, replay.state
    is_followed = bool(frame.called)
    if called.kind in ("function", "method"):
        code = _code_of(replay, called.function_object)
        if code >= 0 and replay.trace.codes[code].flags & _GENERATOR_FLAGS and not is_followed:
            made = replay.node(NodeKind.EXPRESSION, frame, at, item, (), (called.function,))
            replay.made_generator(code, frame.operands, replay.called(frame), frame.call.number)
            return made
        if frame.results:
            made = replay.node(
                NodeKind.EXPRESSION, frame, at, item, frame.results[-1:], (called.function, frame.called)
            )
            return made
    if (
        called.kind == "class"
        and frame.initialized
        and replay.objects[item].kind not in ("list", "dict", "set", "tuple")
    ):
        # A followed `__init__` set the attributes; each has its own writer.
        return replay.node(NodeKind.EXPRESSION, frame, at, item, frame.results, (*called.arguments, frame.called))
    if called.kind == "builtin":
        made = _attribute_function(replay, frame, at, item, called)
        if made:
            return made
    target = called.receiver_object
    if called.name in _ON_FIRST and called.arguments:
        target = flow.object[called.arguments[0]]
    is_change = called.name in _CHANGES and state.is_container(target)
    data = _read_by(replay, frame, item, called, target, is_change=is_change)
    made = replay.node(NodeKind.EXPRESSION, frame, at, item, data, (called.function,))
    if is_change:
        _change(replay, frame, made, called, target)
    if called.name in _ITERATES and item >= 0 and not state.is_container(item):
        behind = [
            one for node in (called.receiver, *called.arguments) if node for one in state.behind(flow.object[node])
        ]
        if behind:
            state.sources[item] = tuple(behind)
    _fill_stream(replay, called, item, made)
    if state.is_container(item) and item not in state.writes:
        state.filled(item, made)
        sources = [flow.object[node] for node in (called.receiver, *called.arguments) if node]
        state.link(item, [one for one in sources if one >= 0], made)
    return made


def _fill_stream(replay: Replay, called: Called, item: int, made: int) -> None:
    """Remember what a method in C was given, such as `write` of a stream: the object's later methods may return it."""
    flow, state = replay.flow, replay.state
    owner = called.receiver_object
    if called.kind == "class" and _may_keep(replay, item):
        # A stream around another one, as `TextIOWrapper` of a `BytesIO`.
        behind = [flow.object[node] for node in called.arguments if node and _may_keep(replay, flow.object[node])]
        if behind:
            state.sources.setdefault(item, tuple(behind))
    elif called.kind == "builtin" and called.arguments and _may_keep(replay, owner):
        for one in (owner, *state.sources.get(owner, ())):
            state.writes.setdefault(one, []).append(made)


def _may_keep(replay: Replay, item: int) -> bool:
    return item >= 0 and replay.objects[item].kind in ("instance", "iterator", "file", "other")


def _code_of(replay: Replay, function: int) -> int:
    one = replay.objects[function]
    if one.kind == "method" and isinstance(one.extra, list) and isinstance(one.extra[0], int) and one.extra[0] >= 0:
        one = replay.objects[one.extra[0]]
    if one.kind == "function" and isinstance(one.extra, list) and isinstance(one.extra[0], int):
        return one.extra[0]
    return -1


def _read_by(replay: Replay, frame: Frame, item: int, called: Called, target: int, *, is_change: bool) -> list[int]:
    """Return the nodes that the result of a function in C was made from."""
    flow, state = replay.flow, replay.state
    if called.name in _GETS and state.is_container(target):
        key = flow.object[called.arguments[0]] if called.arguments else -1
        found = state.item(target, key) if key >= 0 else 0
        found = found or state.element(target, item)
        if found:
            return [found, *frame.results]
        # The key is missing, so the call returned the default. The writes of the container explain that.
        return [*called.arguments, called.receiver, *state.writes.get(target, ())[-4:], *frame.results]
    if called.name == "next" and called.arguments:
        found = state.element(flow.object[called.arguments[0]], item)
        if found:
            return [found, *frame.results]
    if is_change and called.name not in _TAKES:
        return [*called.arguments, *frame.results]
    data = [called.receiver, *called.arguments, *frame.results]
    for node in (called.receiver, *called.arguments):
        if node:
            data += state.all_of(flow.object[node])
    if called.kind == "builtin" and _may_keep(replay, called.receiver_object):
        data += state.writes.get(called.receiver_object, ())[-MOST_WRITES:]
    if item >= 0 and called.kind not in ("builtin", "class"):
        # Code that was not followed passed an object on.
        earlier = state.origins.get(item, 0)
        if earlier and replay.objects[item].kind not in ("none", "bool"):
            data.append(earlier)
    return data


def _change(replay: Replay, frame: Frame, made: int, called: Called, target: int) -> None:
    """Remember what a method changed in a container."""
    at = frame.pending
    flow, state = replay.flow, replay.state
    arguments = called.arguments[1:] if called.name in _ON_FIRST else called.arguments
    pointers = (called.receiver,)
    if called.name in _SETS_ITEM and arguments:
        if called.name == "setdefault" and flow.object[made] != flow.object[arguments[-1]]:
            return  # the key was there
        store_item(replay, frame, at, target, arguments[0], arguments[-1], (*pointers, arguments[0]))
    elif called.name in _PUTS_ONE and arguments:
        value = arguments[0] if called.name != "insert" else arguments[-1]
        store_item(replay, frame, at, target, 0, value, pointers)
    elif called.name in _PUTS_MANY:
        change = replay.node(NodeKind.ITEM, frame, at, -1, arguments, pointers)
        flow.holders[change] = (target, "")
        state.changed(target, change)
        state.link(target, [flow.object[node] for node in arguments if node], change)
        for node in arguments:
            source = flow.object[node]
            if source >= 0 and replay.objects[source].kind == "dict":
                for key in state.contents.get(source, (0, ()))[1][::2]:
                    state.wrote_item(target, key, state.item(source, key) or change)
    else:
        change = replay.node(NodeKind.ITEM, frame, at, -1, arguments, pointers)
        flow.holders[change] = (target, "")
        if called.name == "clear":
            state.filled(target, change)
        else:
            state.changed(target, change)
        if called.name == "pop" and arguments and replay.objects[target].kind == "dict":
            state.wrote_item(target, flow.object[arguments[0]], change)


def _attribute_function(replay: Replay, frame: Frame, at: int, item: int, called: Called) -> int:
    """Follow `setattr`, `object.__setattr__`, `getattr` and `vars`; return 0 for any other function."""
    flow, state = replay.flow, replay.state
    arguments = [called.receiver, *called.arguments] if called.receiver else called.arguments
    if called.name in ("setattr", "__setattr__") and len(arguments) >= 3:
        owner, name, value = arguments[-3:]
        text = state.text(flow.object[name])
        if text is not None:
            store_attribute(replay, frame, at, flow.object[owner], text, value, (owner, name))
            return replay.node(NodeKind.EXPRESSION, frame, at, item)
    if called.name in ("getattr", "__getattribute__") and len(arguments) >= 2:
        text = state.text(flow.object[arguments[1]])
        written = state.attributes.get((flow.object[arguments[0]], text), 0) if text is not None else 0
        if written:
            made = replay.node(NodeKind.EXPRESSION, frame, at, item, (written,), arguments[:2])
            flow.holders[made] = (flow.object[arguments[0]], text or "")
            return made
    if called.name == "vars" and len(arguments) == 1:
        state.joined(flow.object[arguments[0]], item)
    return 0
