"""Value traces are read as they were written, and damaged ones are refused with the file's name."""

import json
from array import array

import pytest

from clew.records.values.trace_files import ValueTraceError, read_value_trace, write_tables
from clew.records.values.trace_format import EVENTS, TABLES, Code, Instruction, ObjectRow, Outcome, ValueTrace


@pytest.fixture
def trace(tmp_path):
    instruction = Instruction("LOAD_FAST", 0, "price", 3, 3, 4, 9, -1, 0)
    code = Code("shop.py", "shop", "Cart.total", 2, ("self", "price"), 2, 3, (instruction,))
    made = ValueTrace(
        memoryview(array("i", [1, 2, 3])), [code], [ObjectRow(0, "class", "type", [0]), ObjectRow(0, "int", "7")], [-1, 0],
        {0: "x"}, ["MainThread"], Outcome(1, "ValueError", "ValueError(7)", (("shop.py", 3, "Cart.total"),)), 3, 2, 0.5,
        (3, 11, 7),
    )  # fmt: skip
    write_tables(tmp_path, made)
    (tmp_path / EVENTS).write_bytes(made.events.tobytes())
    return made


def test_trace_is_read_as_written(tmp_path, trace):
    found = read_value_trace(tmp_path)
    assert list(found.events) == list(trace.events)
    for name in ("codes", "objects", "keys", "ends", "threads", "outcome", "opcodes", "cut", "seconds", "python"):
        assert getattr(found, name) == getattr(trace, name)


def test_events_that_end_in_the_middle_of_a_word_are_read_without_it(tmp_path, trace):
    with (tmp_path / EVENTS).open("ab") as file:
        file.write(b"\1\2")
    assert list(read_value_trace(tmp_path).events) == list(trace.events)


def test_folder_without_a_trace_is_refused(tmp_path):
    with pytest.raises(ValueTraceError, match="cannot be read"):
        read_value_trace(tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tables: tables.update(version=9), "of version 9"),
        (lambda tables: tables.pop("codes"), "damaged"),
        (lambda tables: tables.update(codes=[[1]]), "damaged"),
        (lambda tables: tables.update(outcome=3), "damaged"),
    ],
)
def test_damaged_tables_are_refused_with_their_file(tmp_path, trace, change, message):
    tables = json.loads((tmp_path / TABLES).read_text())
    change(tables)
    (tmp_path / TABLES).write_text(json.dumps(tables))
    with pytest.raises(ValueTraceError, match=message) as error:
        read_value_trace(tmp_path)
    assert str(tmp_path) in str(error.value)


def test_tables_that_are_no_json_are_refused(tmp_path, trace):
    (tmp_path / TABLES).write_text('{"version": 1')
    with pytest.raises(ValueTraceError, match="damaged"):
        read_value_trace(tmp_path)
