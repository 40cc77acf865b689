"""Rewrite every function of the standard library and compare each with the original, instruction by instruction.

The oracle is `dis`, an independent decoder. Without the inserted probes, a rewritten code object has the same instructions at
the same positions, its jumps and handlers lead to the same instructions, and it uses no more stack than it declares.

    python tests/cpython/rewrite_stdlib.py [--every N] [--time] [FOLDER]
"""

from __future__ import annotations

import argparse
import dis
import inspect
import statistics
import sys
import sysconfig
import time
import tokenize
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Never

from clew.instrument.probes.bytecode.rewrite import Call, Probes, is_function, rewrite
from clew.records.format.event import Kind

VERSION = sys.version_info[:2]
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS"})
GENERATOR = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
RUN = ["FOR_ITER"] if VERSION == (3, 11) else ["UNARY_INVERT", "POP_TOP"]
"""The instructions that run a loaded probe."""
TOLD = ["CONTAINS_OP", "POP_TOP"]
"""The same instructions in the handler, where the exception was copied before."""
_LEAPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})


class Probe:
    """Replaces the recorder's probe."""

    def __init__(self, site: int, kind: int) -> None:
        self.site, self.kind = site, kind

    def __invert__(self) -> None:
        pass

    def __next__(self) -> Never:
        raise StopIteration

    def __contains__(self, error: object) -> bool:
        return False


class Action:
    def __call__(self, *arguments: object) -> None:
        pass


def plain(code: types.CodeType) -> Probes:
    return Probes(1)


def everything(code: types.CodeType) -> Probes:
    """Return probes for every place."""
    call = Call(Action(), tuple(range(code.co_argcount)))
    return Probes(1, call, call, call, call, call)


def decoded(code: types.CodeType) -> list[dis.Instruction]:
    return [found for found in dis.get_instructions(code) if found.opname not in ("EXTENDED_ARG", "CACHE")]


def inserted(code: types.CodeType, instructions: list[dis.Instruction]) -> set[int]:
    """Return indexes of the instructions that a rewrite inserted."""
    found: set[int] = set()
    for index, instruction in enumerate(instructions):
        if instruction.opname != "LOAD_CONST":
            continue
        if type(instruction.argval) is Probe:
            run, start = RUN, index
            if instruction.argval.kind == Kind.UNWIND:
                run, start = TOLD, index - 1
                assert instructions[start].opname == "COPY"
            end = index + 1 + len(run)
            found.update(range(start, end))
            assert [item.opname for item in instructions[index + 1 : end]] == run
            if VERSION == (3, 11) and instructions[end].opname == "JUMP_FORWARD":
                following = instructions[end + 1 : end + 3]
                if [item.opname for item in following] == ["SEND", "YIELD_VALUE"]:
                    found |= {end, end + 1}
        elif type(instruction.argval) is Action:
            if VERSION < (3, 13):
                found.add(index - 1)
            while instructions[index].opname != "CALL":
                found.add(index)
                index += 1
            found |= {index, index + 1}
    if found:
        assert instructions[-1].opname == "RERAISE" and len(instructions) - 2 in found
        found.add(len(instructions) - 1)
    return found


def handlers(code: types.CodeType) -> list[tuple[int, int, int, int, bool]]:
    # The stubs lack it, because it is private to `dis`.
    entries: Any = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return [(entry.start, entry.end, entry.target, entry.depth, entry.lasti) for entry in entries]


def compare(before: types.CodeType, after: types.CodeType) -> None:
    """Raise `AssertionError` unless `after` is `before` with probes in it."""
    for name in (
        "co_flags",
        "co_name",
        "co_qualname",
        "co_firstlineno",
        "co_varnames",
        "co_cellvars",
        "co_freevars",
        "co_names",
        "co_argcount",
        "co_posonlyargcount",
        "co_kwonlyargcount",
        "co_filename",
    ):
        assert getattr(before, name) == getattr(after, name), name
    old, new = decoded(before), decoded(after)
    ours = inserted(after, new)
    kept = [index for index in range(len(new)) if index not in ours]
    assert len(kept) == len(old), "instructions are lost"
    assert [
        type(item) if isinstance(item, types.CodeType) else item for item in after.co_consts[: len(before.co_consts)]
    ] == [type(item) if isinstance(item, types.CodeType) else item for item in before.co_consts]
    old_place = {item.offset: index for index, item in enumerate(old)}
    # A jump may lead to the probe before an instruction, or to its prefix: the original target comes next.
    new_place: dict[int, int] = {}
    passed = 0
    for offset in range(0, len(after.co_code) + 2, 2):
        while passed < len(kept) and new[kept[passed]].offset < offset:
            passed += 1
        new_place[offset] = passed
    for place, index in enumerate(kept):
        left, right = old[place], new[index]
        assert left.opname == right.opname
        assert left.positions == right.positions, (left, right)
        if left.opcode in dis.hasjrel or left.opcode in dis.hasjabs:
            target = next(other for other in range(len(new)) if new[other].offset >= right.argval)
            assert old_place[min(offset for offset in old_place if offset >= left.argval)] == new_place[right.argval]
            # The jump skips no probe that must run before the target, and runs no other.
            previous = new[target - 1]
            assert target not in ours or previous.opname != RUN[-1] or target - 1 not in ours
        elif left.opname == "YIELD_VALUE" and VERSION == (3, 12):
            assert right.arg == (left.arg or 0) + bool(ours)
        elif left.opname == "RESUME":
            assert (right.arg or 0) & 3 == (left.arg or 0) & 3
        else:
            assert left.arg == right.arg
    old_handler, new_handler = _handler_of(before, old), _handler_of(after, new)
    body = next((place for place, item in enumerate(old) if item.opname == "RESUME"), len(old)) + 1
    for place, index in enumerate(kept):
        was, now = old_handler[place], new_handler[index]
        if was is not None and place >= body:
            assert now is not None
            assert (old_place[was[0]], *was[1:]) == (new_place[now[0]], *now[1:]), old[place]
        elif ours and place >= body and now is not None:
            assert now[1:] == (0, True) and new_place[now[0]] == len(kept)
        else:
            assert not ours or now is None, old[place]


def _handler_of(code: types.CodeType, instructions: list[dis.Instruction]) -> list[tuple[int, int, bool] | None]:
    table = handlers(code)
    return [
        next(((target, depth, lasti) for start, end, target, depth, lasti in table if start <= item.offset < end), None)
        for item in instructions
    ]


def deepest(code: types.CodeType) -> int:
    """Return the largest stack depth of `code`. Raise `AssertionError` if two paths to a place disagree."""
    instructions = decoded(code)
    place = {}
    index = 0
    for offset in range(0, len(code.co_code) + 2, 2):
        while index < len(instructions) and instructions[index].offset < offset:
            index += 1
        place[offset] = index
    depths: dict[int, int] = {}
    # RETURN_GENERATOR pushes the generator; up to 3.12 its stack effect does not say so.
    waiting = [(0, int(VERSION < (3, 13) and bool(code.co_flags & GENERATOR)))]
    table = handlers(code)
    most = 0

    def reach(index: int, depth: int) -> None:
        nonlocal most
        most = max(most, depth)
        if index in depths:
            assert depths[index] == depth, (code, instructions[index], depths[index], depth)
            return
        depths[index] = depth
        waiting.append((index, depth))

    while waiting:
        index, depth = waiting.pop()
        item = instructions[index]
        for start, end, target, level, lasti in table:
            if start <= item.offset < end:
                assert level <= depth, item
                reach(place[target], level + 1 + lasti)
        if item.opname in _ENDS:
            continue
        jumps = item.opcode in dis.hasjrel
        if jumps:
            reach(place[item.argval], depth + dis.stack_effect(item.opcode, item.arg, jump=True))
        at_its_end = (
            item.opname == "FOR_ITER" and instructions[index + 1].offset == item.argval
        )  # a probe: it never gives
        if item.opname not in _LEAPS and not at_its_end:
            effect = dis.stack_effect(item.opcode, item.arg if item.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
            most = max(most, depth + max(effect, 0))
            reach(index + 1, depth + effect)
    return most


def check(code: types.CodeType) -> int:
    """Rewrite `code` in two ways, check every function in it, and return the number of functions."""
    count = 0
    for choose in (plain, everything):
        pairs = [(code, rewrite(code, choose, Probe))]
        for before, after in pairs:
            pairs += [
                (left, right)
                for left, right in zip(before.co_consts, after.co_consts)
                if isinstance(left, types.CodeType)
            ]
            compare(before, after)
            if is_function(before):
                count += 1
                assert deepest(after) <= after.co_stacksize, (after, deepest(after), after.co_stacksize)
            else:
                assert before.co_code == after.co_code
    return count // 2


def sources(folder: Path) -> Iterator[tuple[Path, types.CodeType]]:
    """Yield every module below `folder` that compiles."""
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        try:
            with tokenize.open(path) as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield path, compile(file.read(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, UnicodeError, ValueError):
            continue


def functions(code: types.CodeType) -> Iterator[types.CodeType]:
    if is_function(code):
        yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from functions(constant)


def measure(codes: list[types.CodeType]) -> None:
    """Print the time to rewrite one function, and the time that the library `bytecode` takes to read and write it."""

    def median(run: Callable[[types.CodeType], object], several: int) -> float:
        times = []
        for code in codes[::several]:
            begin = time.perf_counter_ns()
            run(code)
            times.append(time.perf_counter_ns() - begin)
        print(f"    {len(times)} functions, mean {statistics.fmean(times) / 1000:.1f} us", end="")
        return statistics.median(times) / 1000

    print("clew:")
    print(f", median {median(lambda code: rewrite(code, plain, Probe), 1):.1f} us (nested functions included)")
    try:
        from bytecode import Bytecode
    except ImportError:
        print("the library `bytecode` is not installed: nothing to compare with")
        return
    print("bytecode:")
    print(f", median {median(lambda code: Bytecode.from_code(code).to_code(), 20):.1f} us (reading and writing only)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(sysconfig.get_paths()["stdlib"]))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth module")
    parser.add_argument("--time", action="store_true", help="measure instead of check")
    options = parser.parse_args()
    if options.time:
        measure([found for _, code in list(sources(options.folder))[:: options.every * 4] for found in functions(code)])
        return 0
    modules = count = failed = 0
    for index, (path, code) in enumerate(sources(options.folder)):
        if index % options.every:
            continue
        modules += 1
        try:
            count += check(code)
        except Exception as error:
            failed += 1
            print(f"{path}: {type(error).__name__}: {error}")
            if failed == 1:
                import traceback

                traceback.print_exc()
    print(f"{modules} modules, {count} functions rewritten in two ways; {failed} modules failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
