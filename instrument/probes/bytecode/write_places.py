"""Find where a function's code changes the state of objects, and which of the objects that it gets it reads.

    STORE_ATTR, STORE_SUBSCR, STORE_GLOBAL, STORE_DEREF, and the deletions of attributes and items
    calls of methods and functions that change builtin containers or context variables, by their names alone
    calls of `setattr` and `object.__setattr__`, and assignments to a named item of `__dict__`

A call with a jump among its arguments is found where its method is loaded, and so is every such call on 3.13, where the
receiver's place may be empty when the call begins. There, the argument is not known yet.
"""

from __future__ import annotations

import opcode
from collections.abc import Iterator
from types import CodeType

from clew.instrument.probes.bytecode.opcodes import (
    CACHES,
    CALL,
    DELETE_SUBSCR,
    EXTENDED_ARG,
    JUMPS,
    PRECALL,
    PUSH_NULL,
    STORE_ATTR,
    STORE_SUBSCR,
    VERSION,
    Instruction,
)
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.states import CONTEXT_METHODS, FUNCTIONS, MUTATORS, SETATTR, Form

_OPCODES = opcode.opmap
_DELETE_ATTR, _STORE_GLOBAL, _STORE_DEREF = _OPCODES["DELETE_ATTR"], _OPCODES["STORE_GLOBAL"], _OPCODES["STORE_DEREF"]
_STORE_SLICE = _OPCODES.get("STORE_SLICE", -1)
_LOAD_ATTR, _LOAD_METHOD = _OPCODES["LOAD_ATTR"], _OPCODES.get("LOAD_METHOD", -1)
_LOAD_METHOD = _LOAD_METHOD if _LOAD_METHOD < 256 else -1  # a pseudo-instruction since 3.12
_LOAD_DEREF, _GET_ITER = _OPCODES["LOAD_DEREF"], _OPCODES["GET_ITER"]
_BINARY_SUBSCR = _OPCODES.get("BINARY_SUBSCR", -1)
_LOADS = {_OPCODES[name] for name in ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF") if name in _OPCODES}
_LOADS_AFTER_ANOTHER = {
    _OPCODES[name] for name in ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST") if _OPCODES.get(name, 256) < 256
}
_LOAD_GLOBAL = _OPCODES["LOAD_GLOBAL"]
_SIMPLE_LOADS = _LOADS | {_OPCODES["LOAD_CONST"], _LOAD_GLOBAL}
_CALL = PRECALL if PRECALL >= 0 else CALL
_READERS = MUTATORS | {"get", "items", "keys", "values", "copy", "count", "index", "union", "issubset", "issuperset"}


_SETTERS = frozenset({"setattr", "__setattr__"})
SLICE = "slice"
"""The name of an item that is a slice whose bounds are two entries of the stack."""


class WritePlace(NamedTuple):
    """An instruction before which a write is recorded."""

    instruction: Instruction
    form: Form
    name: str
    """The attribute, `SETATTR`, the method or variable; for an item, "" or `SLICE`."""
    line: int
    arguments: int = 0
    """Of a method's call, the number of arguments; -1 where the method is loaded. Of a function's, those after the first."""
    deletes: bool = False
    slot: int = -1
    """Of a closure variable, its place in the frame."""


class Given(NamedTuple):
    """An object that a function gets, and whose state it reads."""

    name: str
    slot: int
    """Its place in the frame."""
    in_cell: bool
    is_closure: bool
    """It is a variable of an enclosing function."""


class _Step(NamedTuple):
    found: Instruction
    line: int


def places(code: CodeType) -> list[WritePlace]:
    """Return the places in the function's own code, in order."""
    found: list[WritePlace] = []
    steps = list(_steps(code))
    frame = _frame(code)
    for at, (instruction, line) in enumerate(steps):
        number, arg = instruction.opcode, instruction.arg
        if number in {STORE_ATTR, _DELETE_ATTR}:
            found.append(
                WritePlace(instruction, Form.ATTRIBUTE, code.co_names[arg], line, deletes=number == _DELETE_ATTR)
            )
        elif number in {STORE_SUBSCR, DELETE_SUBSCR}:
            found.append(WritePlace(instruction, Form.ITEM, "", line, deletes=number == DELETE_SUBSCR))
        elif number == _STORE_SLICE:
            found.append(WritePlace(instruction, Form.ITEM, SLICE, line))
        elif number == _STORE_GLOBAL:
            found.append(WritePlace(instruction, Form.VARIABLE, code.co_names[arg], line))
        elif number == _STORE_DEREF:
            found.append(WritePlace(instruction, Form.CLOSURE, frame[arg], line, slot=arg))
        elif number == _LOAD_ATTR and not _method(code, instruction) and _attribute(code, instruction) == "__dict__":
            name = _stored_item(code, steps, at)
            if name:
                found.append(WritePlace(instruction, Form.ATTRIBUTE, name, line))
        elif called := _function(code, steps, at):
            call = _call_of(steps, at + _pushes_null(steps, at + 1))
            if call is not None and call.arg == 3 and called in _SETTERS:
                found.append(WritePlace(call, Form.ATTRIBUTE, SETATTR, line))
            elif call is not None and call.arg and called in FUNCTIONS:
                found.append(WritePlace(call, Form.METHOD, called, line, call.arg - 1))
        elif (name := _method(code, instruction)) in MUTATORS | CONTEXT_METHODS:
            call = _call_of(steps, at)
            if name in CONTEXT_METHODS and call is not None and call.arg != 1:
                continue
            if call is None or VERSION >= (3, 13):
                found.append(WritePlace(instruction, Form.METHOD, name, line, -1))
            else:
                found.append(WritePlace(call, Form.METHOD, name, line, call.arg))
    return found


def given(code: CodeType) -> list[Given]:
    """Return the parameters and closure variables whose state the function reads; for `__init__`, also its first one."""
    count = code.co_argcount + code.co_kwonlyargcount
    frame = _frame(code)
    read = _read(code)
    if code.co_name == "__init__":
        read |= set(code.co_varnames[:1])
    cells = frozenset(code.co_cellvars)
    found = [
        Given(name, index, name in cells, is_closure=False)
        for index, name in enumerate(code.co_varnames[:count])
        if name in read
    ]
    free = len(frame) - len(code.co_freevars)
    found += [
        Given(name, free + index, in_cell=True, is_closure=True)
        for index, name in enumerate(code.co_freevars)
        if name in read and name != "__class__"
    ]
    return found


def _frame(code: CodeType) -> tuple[str, ...]:
    """Return the names of the frame's variables in the order of their places."""
    return (
        *code.co_varnames,
        *(name for name in code.co_cellvars if name not in code.co_varnames),
        *code.co_freevars,
    )


def _read(code: CodeType) -> set[str]:
    """Return the names of variables whose attributes or items the code reads, and of closure variables that it reads."""
    frame = _frame(code)
    free = frozenset(code.co_freevars)
    read: set[str] = set()
    before: str | None = None
    steps = [step.found for step in _steps(code)]
    for at, instruction in enumerate(steps):
        number, arg = instruction.opcode, instruction.arg
        if before is not None:
            method = _method(code, instruction)
            following = steps[at + 1].opcode if at + 1 < len(steps) else -1
            if (
                method in _READERS
                or (number == _LOAD_ATTR and not method)
                or number in {_GET_ITER, _BINARY_SUBSCR}
                or (number in _SIMPLE_LOADS and following == _BINARY_SUBSCR)
            ):
                read.add(before)
        before = None
        if number in _LOADS:
            before = frame[arg]
            if number == _LOAD_DEREF and before in free:
                read.add(before)
        elif number in _LOADS_AFTER_ANOTHER:
            before = frame[arg & 15]
    for constant in code.co_consts:
        # What a comprehension reads, the function around it reads.
        if type(constant) is CodeType and constant.co_name.startswith("<") and constant.co_name != "<lambda>":
            read |= _read(constant) & set(frame)
    return read


def _method(code: CodeType, instruction: Instruction) -> str:
    """Return the name of the method that an instruction loads for a call, "" for any other instruction."""
    if instruction.opcode == _LOAD_METHOD:
        return code.co_names[instruction.arg]
    if _LOAD_METHOD < 0 and instruction.opcode == _LOAD_ATTR and instruction.arg & 1:
        return code.co_names[instruction.arg >> 1]
    return ""


def _attribute(code: CodeType, instruction: Instruction) -> str:
    """Return the name of the attribute that a `LOAD_ATTR` loads."""
    return code.co_names[instruction.arg if _LOAD_METHOD >= 0 else instruction.arg >> 1]


def _function(code: CodeType, steps: list[_Step], at: int) -> str:
    """Return the name of a function that is loaded for a call and may change its first argument, "" for none.

    It is a global, or an attribute of one: of a module, or of the class `object`.
    """
    instruction = steps[at].found
    if instruction.opcode == _LOAD_GLOBAL:
        name = code.co_names[instruction.arg >> 1] if instruction.arg & 1 else ""
        return name if name == "setattr" or name in FUNCTIONS else ""
    owner = steps[at - 1].found if at else instruction
    if owner.opcode != _LOAD_GLOBAL:
        return ""
    name = _method(code, instruction)
    if not name and instruction.opcode == _LOAD_ATTR and (owner.arg & 1 or _pushes_null(steps, at + 1)):
        name = _attribute(code, instruction)  # so the compiler calls a function of an imported module
    return name if name == "__setattr__" or name in FUNCTIONS else ""


def _pushes_null(steps: list[_Step], at: int) -> bool:
    return at < len(steps) and steps[at].found.opcode == PUSH_NULL


def _stored_item(code: CodeType, steps: list[_Step], at: int) -> str:
    """Return the name of the item of a `__dict__` that is loaded to assign to it, "" if that is not known."""
    if at + 2 >= len(steps):
        return ""
    key, store = steps[at + 1].found, steps[at + 2].found
    value = code.co_consts[key.arg] if key.opcode == _OPCODES["LOAD_CONST"] and store.opcode == STORE_SUBSCR else ""
    return value if type(value) is str else ""


def _call_of(steps: list[_Step], load: int) -> Instruction | None:
    """Return the call whose method `load` loads, None if a jump is on the way."""
    depth = 0
    for found, _ in steps[load + 1 :]:
        if found.opcode == _CALL and found.arg == depth:
            return found
        if found.opcode in JUMPS:
            return None
        depth += opcode.stack_effect(
            found.opcode, found.arg if found.opcode >= opcode.HAVE_ARGUMENT else None, jump=False
        )
        if depth < 0:
            return None
    return None


def _steps(code: CodeType) -> Iterator[_Step]:
    """Yield the instructions of a code with their lines."""
    bytecode = code.co_code
    lines = [line or code.co_firstlineno for line, _, _, _ in code.co_positions()]
    unit = start = arg = 0
    while 2 * unit < len(bytecode):
        number, arg = bytecode[2 * unit], arg << 8 | bytecode[2 * unit + 1]
        if number == EXTENDED_ARG:
            unit += 1
            continue
        yield _Step(Instruction(start, unit, number, arg), lines[unit])
        unit += 1 + CACHES[number]
        start, arg = unit, 0
