"""Nodes of stores into attributes and containers, whether an instruction or a function in C made them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.graph.values.flow import NodeKind

if TYPE_CHECKING:
    from clew.graph.values.replay import Frame, Replay

CALLABLE = frozenset({"function", "method", "builtin", "class", "module"})
"""Kinds of objects that a program reads to call them, not as values."""


def store_attribute(  # noqa: PLR0917  # as the instruction
    replay: Replay, frame: Frame, at: int, owner: int, name: str, value: int, pointers: Sequence[int]
) -> None:
    """Add the node of an attribute's store."""
    made = replay.node(NodeKind.ATTRIBUTE, frame, at, replay.flow.object[value], (value,), pointers)
    replay.state.attributes[owner, name] = made
    replay.flow.holders[made] = (owner, name)


def store_item(  # noqa: PLR0917  # as the instruction
    replay: Replay, frame: Frame, at: int, container: int, key: int, value: int, pointers: Sequence[int]
) -> int:
    """Add the node of an item's store. `key` is a node, 0 for none."""
    flow, state = replay.flow, replay.state
    item = flow.object[value]
    made = replay.node(NodeKind.ITEM, frame, at, item, (value,), pointers)
    if key:
        state.wrote_item(container, flow.object[key], made)
    state.item_objects[made] = item
    state.elements[container, item] = made
    state.changed(container, made)
    flow.holders[made] = (container, "")
    return made


def earlier(replay: Replay, frame: Frame, item: int, holder: tuple[int, str]) -> int:
    """Add the node of a value that is older than the trace. `holder` is its object and name."""
    made = replay.node(NodeKind.EARLIER, frame, -1, item)
    replay.flow.control[made] = 0
    replay.flow.holders[made] = holder
    return made
