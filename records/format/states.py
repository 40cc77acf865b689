"""Define what WRITE and GIVEN records say about the objects of the program.

A WRITE is the assignment of an attribute, an item, a global or a closure variable, or a call that changes a builtin
container or a context variable. Its `key` is the object that changes: the address in memory, shifted by a random number of
the process. An address is used again after the object's death, so a key means one object only until the next `__init__`
that gets it.

    form        key                 channel             text
    attribute   the object          its name            the value
    setattr()   the object          "setattr()"         the attribute's name as a string, ": ", the value; also of
                                                        `object.__setattr__`
    item        the container       "[]"                the item's key, ": ", the value
    method      the container       ".append" etc.      the argument if there is exactly one, else ""
    function    the list            ".heappush" etc.    the second argument if there are exactly two, else ""
    context     the variable        ".set", ".reset"    the argument
    variable    the variable        "global name"       the value
    closure     the variable        "closure name"      the value

A deletion has the text `DELETED` in place of the value. A value is written as in Python where it is None, a number, a
string or a member of an enumeration. Otherwise it is the name of its type and, after " #", its key in hexadecimal digits.
"""

import enum
import re

from clew.records.fast_namedtuple import NamedTuple

DELETED = "deleted"
HIDDEN = "<redacted>"
ITEM = "[]"
SETATTR = "setattr()"
METHOD = "."
GLOBAL = "global "
CLOSURE = "closure "
MUTATORS = frozenset({
    "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "clear", "sort",
    "reverse", "rotate", "update", "setdefault", "add", "discard", "difference_update", "intersection_update",
    "symmetric_difference_update",
})  # fmt: skip
"""The methods of list, dict, set, bytearray and deque that change the container."""
CONTEXT_METHODS = frozenset({"set", "reset"})
"""The methods that change a context variable. Each has one argument."""
FUNCTIONS = frozenset({
    "heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "insort_left", "insort_right", "shuffle",
})  # fmt: skip
"""Functions of the standard library that change their first argument, a list. They are recorded like its methods."""


class Form(enum.IntEnum):
    """The forms of writes that the recorder's C core knows."""

    ATTRIBUTE = 0
    ITEM = 1
    METHOD = 2
    VARIABLE = 3
    CLOSURE = 4
    GIVEN = 5


_REFERENCE = re.compile(r"([^\W\d][\w.]*) #([0-9a-f]+)")


class WrittenValue(NamedTuple):
    """A value in the text of a WRITE."""

    text: str
    """The value, or the name of its type."""
    key: int
    """The object's key, 0 where the text is the value itself."""


def written_value(text: str) -> WrittenValue:
    found = _REFERENCE.fullmatch(text)
    return WrittenValue(found[1], int(found[2], 16)) if found else WrittenValue(text, 0)


def item_of(text: str) -> tuple[str, str]:
    """Split the text of an item's write into the item's key and the value."""
    if text[:1] in {"'", '"'}:
        end = text.find(text[0] + ": ", 1)
        return (text[: end + 1], text[end + 3 :]) if end > 0 else (text, "")
    key, _, value = text.partition(": ")
    return key, value
