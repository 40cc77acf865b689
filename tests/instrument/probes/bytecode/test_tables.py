"""Line tables, exception tables and the layout of bytecode, compared with how the interpreter reads them."""

from __future__ import annotations

import dis
import importlib.util
import inspect
import types
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given, settings

from clew.instrument.probes.bytecode import exception_table, line_table
from clew.instrument.probes.bytecode.exception_table import Entry
from clew.instrument.probes.bytecode.line_table import Inserted
from clew.instrument.probes.bytecode.opcodes import CACHES, encode, prefixes, scan
from tests.support.examples import examples

NOP = encode(dis.opmap["NOP"])


def functions_of(module):
    found = []

    def walk(code):
        found.append(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                walk(constant)

    walk(compile(Path(inspect.getsourcefile(module)).read_text(), "x", "exec"))
    return found


CODES = functions_of(inspect) + functions_of(importlib.util) + functions_of(dis)


def positions(table, units):
    return list((lambda: 0).__code__.replace(co_firstlineno=1, co_code=NOP * units, co_linetable=table).co_positions())


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(CODES), st.data())
def test_line_table_insert_preserves_positions(code, data):
    units = len(code.co_code) // 2
    before = positions(code.co_linetable, units)
    insertions = sorted(
        data.draw(
            st.lists(
                st.tuples(st.integers(0, units - 1), st.integers(1, 20), st.booleans()),
                max_size=6,
                unique_by=lambda i: i[0],
            )
        )
    )
    expected, copied = [], 0
    for unit, count, located in insertions:
        expected += before[copied:unit]
        expected += [before[unit] if located else (None,) * 4] * count
        copied = unit
    expected += before[copied:]
    table = line_table.insert(
        code.co_linetable, [Inserted(unit, count, unit if located else -1) for unit, count, located in insertions]
    )
    assert positions(table, len(expected)) == expected


def test_line_table_that_ends_early_stays_unchanged():
    assert line_table.insert(b"", [Inserted(3, 4, -1), Inserted(5, 1, 5)]) == b""


entries = st.lists(
    st.tuples(st.integers(0, 90), st.integers(1, 90), st.integers(0, 1 << 20), st.integers(0, 300)), max_size=8
).map(lambda items: _laid_out(items))


def _laid_out(items):
    out, start = [], 0
    for gap, length, target, depth in items:
        out.append(Entry(start + gap, start + gap + length, target, depth))
        start += gap + length
    return out


@given(entries)
def test_exception_table_parse_equals_dis(table):
    written = exception_table.serialise(table)
    assert exception_table.parse(written) == table
    code = (lambda: 0).__code__.replace(co_exceptiontable=written)
    assert [
        (e.start // 2, e.end // 2, e.target // 2, e.depth << 1 | e.lasti) for e in dis._parse_exception_table(code)
    ] == table


def test_exception_table_of_compiler_survives_round_trip():
    for code in CODES:
        assert exception_table.serialise(exception_table.parse(code.co_exceptiontable)) == code.co_exceptiontable


@given(entries, st.integers(0, 200), st.integers(0, 400))
def test_exception_table_fill_gaps_covers_only_gaps(table, start, length):
    end = max([start + length, *(entry.end for entry in table)])
    handler = Entry(0, 0, 1 << 22, 1)
    filled = exception_table.fill_gaps(table, start, end, handler)
    covering = {unit: entry for entry in table for unit in range(entry.start, entry.end)}
    found = [(unit, entry) for entry in filled for unit in range(entry.start, entry.end)]
    assert [unit for unit, _ in found] == list(range(start, end))
    for unit, entry in found:
        wanted = covering.get(unit, handler)
        assert (entry.target, entry.depth) == (wanted.target, wanted.depth)


@given(entries, st.lists(st.tuples(st.integers(0, 400), st.integers(1, 20)), max_size=4))
def test_exception_table_cut_removes_units_of_one_target_only(table, lengths):
    spans, at = [], 0
    for gap, length in lengths:
        spans.append((at + gap, at + gap + length))
        at += gap + length
    target = table[0].target if table else 0
    inside = {unit for begin, end in spans for unit in range(begin, end)}
    left = {
        unit: (e.target, e.depth) for e in exception_table.cut(table, target, spans) for unit in range(e.start, e.end)
    }
    assert left == {
        unit: (e.target, e.depth)
        for e in table
        for unit in range(e.start, e.end)
        if e.target != target or unit not in inside
    }


def test_scan_instructions_equal_dis():
    kinds = {"RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE", "RESUME", "DELETE_FAST"}
    for code in CODES:
        expected = [
            (item.offset // 2, item.opname, item.arg or 0, item.argval // 2 if item.opcode in dis.hasjrel else None)
            for item in dis.get_instructions(code)
            if item.opname in kinds or item.opcode in dis.hasjrel
        ]
        found = [
            (item.unit, dis.opname[item.opcode], item.arg, item.jump_target if item.opcode in dis.hasjrel else None)
            for item in scan(code.co_code)
        ]
        assert found == expected


@given(st.integers(0, (1 << 31) - 1))
def test_encode_argument_of_any_size_is_decoded_by_dis(arg):
    data = encode(dis.opmap["LOAD_CONST"], arg)
    assert len(data) == 2 * (prefixes(arg) + 1)
    decoded = list(dis._unpack_opargs(data))[-1]
    assert decoded[-1] == arg


def test_encode_call_includes_its_caches():
    assert len(encode(dis.opmap["CALL"], 1)) == 2 + 2 * CACHES[dis.opmap["CALL"]]
    assert CACHES[dis.opmap["CALL"]] > 0
