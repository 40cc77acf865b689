"""Rewrite code objects so that they report every call to the recorder; this module places the probes.

Invariant: everything that the program can observe (results, tracebacks with lines and columns, traced lines, frames,
generator states, signatures) is unchanged. So a probe at the entry has no location, and a probe at a return or yield
has the location of that instruction. Our handler covers only the code that the function's own handlers leave open. It
reraises an exception with a RERAISE to the original position.

    ENTER          after the first RESUME, where all parameters and cells are initialised
    EXIT           before each return
    SUSPEND        before each YIELD_VALUE, which every await and `yield from` loop also has
    RESUME         after each later RESUME; an exception thrown into a generator resumes it without a RESUME
    UNWIND         in the handler, when an exception is about to leave the frame (including GeneratorExit)

A probe is a constant and the instructions around its LOAD_CONST; see `probe_sequence`. A probe that acts on a
parameter is an `Operand`: LOAD_CONST probe; LOAD_FAST parameter; DELETE_SUBSCR. A probe that records a write copies the
object and the value from the stack: COPY value; LOAD_CONST probe; COPY object; STORE_SUBSCR. It never raises, so it may
stand anywhere.
"""

from collections.abc import Callable
from types import CodeType

from clew.instrument.probes.bytecode import exception_table, line_table, probe_sequence
from clew.instrument.probes.bytecode.exception_table import Entry
from clew.instrument.probes.bytecode.opcodes import (
    CALL,
    CO_NEWLOCALS,
    CO_OPTIMIZED,
    CO_VARARGS,
    CO_VARKEYWORDS,
    COPY,
    DELETE_FAST,
    DELETE_SUBSCR,
    JUMP_FORWARD,
    JUMPS,
    LOAD_CLOSURE,
    LOAD_CONST,
    LOAD_DEREF,
    LOAD_FAST,
    POP_TOP,
    PRECALL,
    PUSH_NULL,
    RERAISE,
    RESUME,
    RETURN_CONST,
    RETURN_VALUE,
    SEND,
    STORE_FAST,
    STORE_SUBSCR,
    VERSION,
    YIELD_VALUE,
    Instruction,
    encode,
    scan,
    stores,
)
from clew.instrument.probes.bytecode.relocate import Insertion, Layout, after, before
from clew.instrument.probes.bytecode.write_places import SLICE, Given, WritePlace
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import Kind
from clew.records.format.states import SETATTR, Form

_FUNCTION = CO_OPTIMIZED | CO_NEWLOCALS
_POP_TOP = encode(POP_TOP)
_DELETE_ITEM, _SET_ITEM = encode(DELETE_SUBSCR), encode(STORE_SUBSCR)
_RERAISE_AT_LASTI = encode(RERAISE, 1)


class Call(NamedTuple):
    """A call of `action` with the parameters; at finish, the result or the exception precedes them."""

    action: object
    parameters: tuple[int, ...]
    """Indexes of parameters. A parameter in a cell is passed as the cell; see `Parameter`."""
    stores: int | None = None
    """Index of the parameter that the result of the call is assigned to; never a parameter in a cell."""


class Store(NamedTuple):
    """A probe that acts after each store into a local or attribute called `name`: `del probe[x]`, or `probe[x] = y`."""

    name: str
    probe: object
    locals: tuple[int, ...]
    """Indexes of x, or of x and y; never locals in cells."""


class WriteProbe(NamedTuple):
    """A probe that acts before an instruction that changes an object: `probe[object] = value`."""

    place: WritePlace
    probe: object


class GivenProbe(NamedTuple):
    """A probe that acts at the start on an object that the function gets: `del probe[object]`."""

    given: Given
    probe: object


class StateProbes(NamedTuple):
    writes: tuple[WriteProbe, ...]
    given: tuple[GivenProbe, ...]


class Probes(NamedTuple):
    """The probes that a chooser selects for a function."""

    site: int
    start: Call | None = None
    """The call immediately after ENTER."""
    before_exit: Call | None = None
    after_exit: Call | None = None
    before_unwind: Call | None = None
    after_unwind: Call | None = None
    stores: tuple[Store, ...] = ()
    states: StateProbes | None = None


class Operand(NamedTuple):
    """A probe that acts on a parameter with `del probe[parameter]`."""

    probe: object
    parameter: int
    """Index of the parameter; never a parameter in a cell."""


Chooser = Callable[[CodeType], Probes | None]
MakeProbe = Callable[[int, int], object]
"""Return the probe of a site and a `Kind`, or None to omit it."""


class Parameter(NamedTuple):
    position: int
    in_cell: bool
    """Nested functions use the parameter, so a call gets its cell, which may be empty."""
    deletable: bool
    """The body can delete the parameter, so it must not be read at finish."""


def parameters(code: CodeType) -> dict[str, Parameter]:
    """Return the parameters of a function's code by name, in order."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    deleted = {found.arg for found in scan(code.co_code) if found.opcode == DELETE_FAST}
    cells = frozenset(code.co_cellvars)
    return {
        name: Parameter(index, name in cells, index in deleted) for index, name in enumerate(code.co_varnames[:count])
    }


def is_function(code: CodeType) -> bool:
    """Return whether `code` is a function, method, lambda, generator or coroutine.

    Modules, class bodies, comprehensions and type scopes are not functions.
    """
    named = not code.co_name.startswith("<") or code.co_name == "<lambda>"
    return code.co_flags & _FUNCTION == _FUNCTION and named


def rewrite(code: CodeType, choose: Chooser, make_probe: MakeProbe) -> CodeType:
    """Return `code` and its nested code with the probes that `choose` selects for each function.

    Without any probe, return `code` itself.
    """
    probes = choose(code) if is_function(code) else None
    constants = code.co_consts
    for index, constant in enumerate(constants):
        if type(constant) is CodeType:
            nested = rewrite(constant, choose, make_probe)
            if nested is not constant:
                if constants is code.co_consts:
                    constants = list(constants)  # type: ignore[assignment]  # copied once, converted back below
                constants[index] = nested  # type: ignore[index]  # a list from here on
    if probes is not None:
        return _instrument(code, list(constants), probes, make_probe)
    return code if constants is code.co_consts else code.replace(co_consts=tuple(constants))


class _Writer:
    """Encode probes and calls for one code object, and collect its constants and the stack size that they need."""

    def __init__(self, code: CodeType, constants: list[object], site: int, make_probe: MakeProbe) -> None:
        self.constants = constants
        self.stack = self._depth = code.co_stacksize
        cells = code.co_cellvars
        self._cells = frozenset(index for index, name in enumerate(code.co_varnames) if name in cells) if cells else ()
        self._site = site
        self._make_probe = make_probe
        self._probes: dict[Kind, bytes] = {}

    def _constant(self, value: object) -> bytes:
        self.constants.append(value)
        return encode(LOAD_CONST, len(self.constants) - 1)

    def probe(self, kind: Kind, depth: int) -> bytes:
        """Return the code of a probe; `depth` is the stack depth before it."""
        if kind not in self._probes:
            self._probes[kind] = self._act(self._make_probe(self._site, kind), depth)
        return self._probes[kind]

    def _act(self, probe: object, depth: int) -> bytes:
        if type(probe) is Operand:
            self.stack = max(self.stack, depth + 2)
            return self._constant(probe.probe) + encode(LOAD_FAST, probe.parameter) + _DELETE_ITEM
        if probe is None:
            return b""
        self.stack = max(self.stack, depth + 1 + probe_sequence.takes_exception(probe))
        return probe_sequence.around_load(probe, self._constant(probe))

    def store(self, store: Store) -> bytes:
        self.stack = max(self.stack, self._depth + 3)
        subject, *value = (encode(LOAD_FAST, index) for index in store.locals)
        return b"".join((*value, self._constant(store.probe), subject, _SET_ITEM if value else _DELETE_ITEM))

    def given(self, found: GivenProbe) -> bytes:
        """Return the code that records an object at the start of the function."""
        self.stack = max(self.stack, 2)
        place = found.given
        if place.is_closure:
            load = encode(LOAD_CLOSURE, place.slot)
        else:
            load = encode(LOAD_DEREF if place.in_cell else LOAD_FAST, place.slot)
        return self._constant(found.probe) + load + _DELETE_ITEM

    def write(self, found: WriteProbe) -> bytes:
        """Return the code that records a write, right before the instruction that does it."""
        self.stack = max(self.stack, self._depth + 3)
        place, probe = found.place, self._constant(found.probe)
        value = probe  # the probe itself means that there is no value
        item = b""
        match place.form:
            case Form.ATTRIBUTE if place.name == SETATTR:
                item = probe + encode(COPY, 3) + _DELETE_ITEM
                value, owner = encode(COPY, 1), encode(COPY, 5)
            case Form.ATTRIBUTE if place.deletes:
                owner = encode(COPY, 3)
            case Form.ATTRIBUTE:
                value, owner = encode(COPY, 2), encode(COPY, 3)
            case Form.ITEM if place.name == SLICE:
                value, owner = encode(COPY, 4), encode(COPY, 5)
            case Form.ITEM:
                item = probe + encode(COPY, 2) + _DELETE_ITEM
                owner = encode(COPY, 4)
                value = value if place.deletes else encode(COPY, 3)
            case Form.METHOD:
                owner = encode(COPY, 3 + max(place.arguments, 0))
                value = encode(COPY, 1) if place.arguments == 1 else value
            case Form.CLOSURE:
                value, owner = encode(COPY, 1), encode(LOAD_CLOSURE, place.slot)
            case _:
                value, owner = encode(COPY, 1), probe
        return item + value + probe + owner + _SET_ITEM

    def call(self, call: Call | None, depth: int, subject: bytes = b"") -> bytes:
        """Return the code of a call; `subject` pushes the result or exception above the callable's two entries."""
        if call is None:
            return b""
        count = len(call.parameters) + bool(subject)
        self.stack = max(self.stack, depth + 2 + count)
        pushes = encode(PUSH_NULL), self._constant(call.action)
        out = [*(pushes if VERSION < (3, 13) else reversed(pushes)), subject]
        out += [encode(LOAD_CLOSURE if index in self._cells else LOAD_FAST, index) for index in call.parameters]
        if PRECALL >= 0:
            out.append(encode(PRECALL, count))
        out += (encode(CALL, count), _POP_TOP if call.stores is None else encode(STORE_FAST, call.stores))
        return b"".join(out)


def _instrument(code: CodeType, constants: list[object], probes: Probes, make_probe: MakeProbe) -> CodeType:
    writer = _Writer(code, constants, probes.site, make_probe)
    bytecode = code.co_code
    insertions: list[Insertion] = []
    jumps: list[Instruction] = []
    resumes: list[Instruction] = []
    yields: list[Instruction] = []
    returns: list[tuple[Instruction, int]] = []
    sends: list[tuple[Instruction, int]] = []
    start_call = b""
    loop = -1
    for found in scan(bytecode):
        number = found.opcode
        if number in JUMPS:
            jumps.append(found)
            if number == SEND:
                loop = len(jumps) - 1
        elif number in (RETURN_VALUE, RETURN_CONST):
            if number == RETURN_VALUE:
                depth, subject = 1, encode(COPY, 3)
            else:
                depth, subject = 0, encode(LOAD_CONST, found.arg)
            start = writer.call(probes.before_exit, depth, subject)
            end = writer.probe(Kind.EXIT, depth) + writer.call(probes.after_exit, depth, subject)
            insertions.append(before(found, start + end))
            returns.append((found, len(end) // 2))
        elif number == YIELD_VALUE:
            data = writer.probe(Kind.SUSPEND, code.co_stacksize)
            if VERSION == (3, 11) and loop >= 0 and jumps[loop].unit + 1 == found.start:
                # On 3.11, generator.throw() assumes that the word before a suspended YIELD_VALUE is the loop's SEND
                # and continues at its jump target. So this inserts a copy of the SEND there, which never runs.
                data += encode(JUMP_FORWARD, 1) + encode(SEND)
                sends.append((found, jumps[loop].jump_target))
            insertions.append(before(found, data))
            yields.append(found)
        elif number == RESUME:
            if resumes:
                insertions.append(after(found, writer.probe(Kind.RESUME, code.co_stacksize), located=True))
            else:
                start_call = writer.call(probes.start, 0)
                given = b"".join(map(writer.given, probes.states.given)) if probes.states is not None else b""
                insertions.append(after(found, writer.probe(Kind.ENTER, 0) + given + start_call, located=False))
            resumes.append(found)
    if not resumes:
        return code.replace(co_consts=tuple(constants[: len(code.co_consts)]))
    if probes.stores:
        for store in probes.stores:
            insertions += [after(found, writer.store(store), located=True) for found in stores(code, store.name)]
    if probes.states is not None:
        insertions += [before(found.place.instruction, writer.write(found)) for found in probes.states.writes]
    if probes.stores or probes.states is not None:
        insertions.sort(key=lambda insertion: insertion.order)
    layout = Layout(bytecode, insertions, jumps)
    for found, target in sends:
        unit = layout.instruction(found.start)
        layout.data[2 * unit - 1] = layout.target(target) - unit
    _count_our_handler(layout, yields, resumes)

    handler = len(layout.data) // 2
    copy_exception = encode(COPY, 3)
    unwind = writer.call(probes.before_unwind, 2, copy_exception) + writer.probe(Kind.UNWIND, 2)
    unwind += writer.call(probes.after_unwind, 2, copy_exception) + _RERAISE_AT_LASTI
    body = layout.target(resumes[0].unit + 1) - len(start_call) // 2
    entries = exception_table.fill_gaps(
        [
            Entry(layout.target(entry.start), layout.target(entry.end), layout.target(entry.target), entry.depth)
            for entry in exception_table.parse(code.co_exceptiontable)
        ],
        body,
        handler,
        Entry(0, 0, handler, 1),
    )
    if probes.after_exit is not None:
        # The call has already ended, so an interrupt during the action must not be recorded as a second end.
        ends = [
            (layout.instruction(found.start) - units, layout.instruction(found.unit) + 1) for found, units in returns
        ]
        entries = exception_table.cut(entries, handler, ends)
    lines = line_table.insert(code.co_linetable, layout.inserted()) + line_table.no_location(len(unwind) // 2)
    return code.replace(
        co_code=bytes(layout.data) + unwind,
        co_consts=tuple(writer.constants),
        co_exceptiontable=exception_table.serialise(entries),
        co_linetable=lines,
        co_stacksize=writer.stack,
    )


def _count_our_handler(layout: Layout, yields: list[Instruction], resumes: list[Instruction]) -> None:
    """Make `close()` throw GeneratorExit into the frame even if the function itself has no handler at a yield.

    If the only handler of a suspended generator is the implicit one for StopIteration, 3.13 closes the generator
    without running it. A bit for "one handler" in RESUME's argument marks this case. For the same purpose, 3.12
    stores the number of handlers in YIELD_VALUE's argument (3.12.1 ignores it). With this change, a trace function
    sees the exception of such a `close()`, as it does up to 3.12.
    """
    if VERSION == (3, 12):
        for found in yields:
            layout.data[2 * layout.instruction(found.unit) + 1] = min(found.arg + 1, 255)
    elif VERSION == (3, 13):
        for found in resumes:
            layout.data[2 * layout.instruction(found.unit) + 1] = found.arg & 3
