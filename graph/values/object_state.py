"""The last known writer of every attribute, item, global and shared variable while a value trace is replayed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from clew.records.values.trace_format import ValueTrace

CONTAINERS = frozenset({"list", "tuple", "set", "frozenset", "dict", "deque"})
MOST_WRITES = 64
"""How many writes of a container a reader of the whole container depends on; the newest count."""
Key = int | tuple[str, int]


@dataclass(eq=False)
class ObjectState:
    """Nodes by what they wrote. Objects are numbers of the trace."""

    trace: ValueTrace
    attributes: dict[tuple[int, str], int] = field(default_factory=dict)
    items: dict[tuple[int, Key], int] = field(default_factory=dict)
    elements: dict[tuple[int, int], int] = field(default_factory=dict)
    """By container and element: the node that put the element there."""
    writes: dict[int, list[int]] = field(default_factory=dict)
    """By container: all nodes that changed which elements it has."""
    positions: dict[int, list[int]] = field(default_factory=dict)
    """By tuple or list: the nodes of its elements in order, until it changes."""
    globals: dict[tuple[int, str], int] = field(default_factory=dict)
    cells: dict[int, int] = field(default_factory=dict)
    sources: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By iterator or view: the containers behind it."""
    contents: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """By container: its length and first elements when they were last recorded."""
    lengths: dict[int, int] = field(default_factory=dict)
    """By container: how many items it has now."""
    births: dict[int, int] = field(default_factory=dict)
    """By object: the first node that had it."""
    origins: dict[int, int] = field(default_factory=dict)
    """By object: the node that had it last. It bridges code that was not followed."""
    item_objects: dict[int, int] = field(default_factory=dict)
    """By ITEM node: the object that it stored, if the node is one item."""
    owners: dict[int, int] = field(default_factory=dict)
    """By the `__dict__` of an object: the object. An item of the one is an attribute of the other."""
    dicts: dict[int, int] = field(default_factory=dict)
    """By object: its `__dict__`, if the program used that."""

    def key(self, item: int) -> Key:
        """Return what identifies a key: equal texts and numbers are one key, other objects are themselves."""
        number = self.trace.keys[item] if item >= 0 else -1
        return number if number >= 0 else ("object", item)

    def is_container(self, item: int) -> bool:
        return item >= 0 and self.trace.objects[item].kind in CONTAINERS

    def behind(self, item: int) -> tuple[int, ...]:
        """Return the containers that iterating over an object reads."""
        found = self.sources.get(item)
        if found is not None:
            return found
        return (item,) if self.is_container(item) else ()

    def text(self, item: int) -> str | None:
        """Return the text of a string without its quotation marks; None for any other object, and for a text that was cut."""
        if item < 0 or self.trace.objects[item].kind != "str":
            return None
        text = self.trace.objects[item].text or ""
        return text[1:-1] if len(text) >= 2 else None

    def item(self, container: int, key: int) -> int:
        """Return the node that wrote the item with a key; 0 if that is not known."""
        owner = self.owners.get(container, -1)
        if owner >= 0 and (name := self.text(key)) is not None and (found := self.attributes.get((owner, name), 0)):
            return found
        return self.items.get((container, self.key(key)), 0)

    def joined(self, owner: int, attributes: int) -> None:
        """Remember that an object is the `__dict__` of another one."""
        self.owners[attributes] = owner
        self.dicts[owner] = attributes

    def last_change_of_dict(self, owner: int) -> int:
        """Return the last node that changed the `__dict__` of an object; 0 if none did."""
        return next(reversed(self.writes.get(self.dicts.get(owner, -1), ())), 0)

    def wrote_item(self, container: int, key: int, node: int) -> None:
        """Remember the node that wrote the item with a key, an attribute in the `__dict__` of an object."""
        self.items[container, self.key(key)] = node
        owner = self.owners.get(container, -1)
        if owner >= 0 and (name := self.text(key)) is not None:
            self.attributes[owner, name] = node

    def element(self, container: int, element: int, key: int = -1) -> int:
        """Return the node that put an element into a container; 0 if that is not known."""
        for source in self.behind(container):
            found = self.item(source, key) if key >= 0 else 0
            if not found or self._holds_another(found, element):
                found = self.elements.get((source, element), 0)
            if found:
                return found
        return 0

    def _holds_another(self, node: int, element: int) -> bool:
        return element >= 0 and self.item_objects.get(node, element) != element

    def all_of(self, item: int) -> tuple[int, ...]:
        """Return the nodes that filled an object, for code that reads all of it: its writes, and those of containers in it."""
        found: list[int] = []
        for source in self.behind(item) or (item,):
            found += self.writes.get(source, ())[-MOST_WRITES:]
            for inner in self.contents.get(source, (0, ()))[1][:20]:
                if self.is_container(inner):
                    found += self.writes.get(inner, ())[-MOST_WRITES // 2 :]
        return tuple(found)

    def filled(self, container: int, node: int) -> None:
        """Remember a new container whose elements a node made."""
        self.writes[container] = [node]

    def changed(self, container: int, node: int) -> None:
        self.positions.pop(container, None)
        # The trace says the new length when the container is pushed next, if it is another one.
        self.lengths.pop(container, None)
        self.writes.setdefault(container, []).append(node)

    def link(self, container: int, sources: Iterable[int], node: int) -> None:
        """Connect each recorded element of a new container with the node that put it into one of the sources, else `node`."""
        _, elements = self.contents.get(container, (0, ()))
        behind = [one for source in sources for one in self.behind(source)]
        is_dict = self.trace.objects[container].kind == "dict"
        for place, element in enumerate(elements):
            if is_dict and not place % 2:
                continue
            found = 0
            key = self.key(elements[place - 1]) if is_dict else None
            for source in behind:
                found = (self.items.get((source, key), 0) if key is not None else 0) or self.elements.get(
                    (source, element), 0
                )
                if found:
                    break
            # The key and the value of a dict's item come out as a pair.
            if not found and not is_dict and len(elements) == 2 and place == 1:
                found = next(filter(None, (self.items.get((one, self.key(elements[0])), 0) for one in behind)), 0)
            if key is not None:
                self.items[container, key] = found or node
            self.elements[container, element] = found or node
