"""The format of a value trace: a folder with `events.bin` and `tables.json`.

`events.bin` has little-endian 32-bit integers in the order of execution. A record is a head, `kind | words << 8`, and its
words:

| kind | words |
| --- | --- |
| CALL | frame, code, caller's frame or -1, whether it called directly, thread, globals, the object of each parameter |
| STEP | frame, instruction that begins, depth of its stack, the objects that the instruction before it pushed, deepest first |
| RETURN, YIELD | frame, object |
| UNWIND | frame: an exception left it |
| RAISE | frame, exception |
| RESUME | frame, caller's frame or -1, whether it called directly, thread: a generator or coroutine was entered again |
| CONTENTS | container, its length, its first elements (a dict: key, value, …), when it was seen first |
| CELL | frame, cell: which cell the next instruction of the frame uses |
| CUT | reason: the recording ended here |
| LENGTH | container, its length, where that differs from before |

Frames and objects have numbers from 0 in the order of first sight; -1 is no object. An object that was seen is kept alive while
it is recorded, so a number means one object. Only generators, files and other objects with a finalizer are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

VERSION = 1
EVENTS, TABLES = "events.bin", "tables.json"
CALL, STEP, RETURN, YIELD, UNWIND, RAISE, RESUME, CONTENTS, CELL, CUT, LENGTH = range(1, 12)
CUTS = {
    1: "the limit of followed instructions was reached",
    2: "the limit of memory was reached",
    3: "the time limit was reached",
    4: "the program installed a trace function of its own",
    5: "an instruction could not be followed",
    6: "the trace could not be written",
}
"""Why a recording ended before the program, by reason."""


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    arg: int
    """-1 without one."""
    text: str
    """The name or operator that the argument stands for; "" for none."""
    line: int
    end_line: int
    column: int
    """In bytes of the line; -1 if it is not known."""
    end_column: int
    jump: int
    """The number of the instruction that it may jump to; -1 for none."""
    pops: int
    """How many values it takes from the stack."""


@dataclass(frozen=True, slots=True)
class Code:
    file: str
    module: str
    name: str
    """The qualified name, such as `Cart.total`."""
    line: int
    variables: tuple[str, ...]
    """The local variables; the parameters are the first."""
    parameters: int
    flags: int
    """`co_flags`."""
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class ObjectRow:
    type: int
    """The number of its class's object."""
    kind: str
    """"int", "str", "list", "function", "method", "builtin", "class", "module", "instance", …"""
    text: str | None
    """The value as a person writes it, if it cannot change; for functions and classes the qualified name."""
    extra: Any = None
    """A function: [code or -1]. A method: [function, self]. A builtin: [receiver or -1]. A class: its `__mro__`. A module: its
    name. An exception: [cause or -1, context or -1]."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the followed test or program ended."""

    exception: int
    """The object of the exception that ended it; -1 for none."""
    type: str
    message: str
    traceback: tuple[tuple[str, int, str], ...]
    """File, line and qualified name of each frame, outermost first."""


@dataclass(frozen=True, eq=False)
class ValueTrace:
    events: memoryview
    """Of 32-bit integers."""
    codes: list[Code]
    objects: list[ObjectRow]
    keys: list[int]
    """Per object: equal numbers for equal strings, numbers and tuples of them; -1 for any other object."""
    ends: dict[int, str]
    """The short form of objects that can change, as they were at the end."""
    threads: list[str]
    outcome: Outcome
    opcodes: int
    cut: int = 0
    """The reason in `CUTS`; 0 if the trace is whole."""
    seconds: float = 0.0
    python: tuple[int, ...] = field(default=())
