"""Seventy thousand damaged trace files: the reader never fails and always ends. `make fuzz` tries more."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.causes.why import why
from clew.query.api import open_run
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run
from tests.support.examples import examples

pytestmark = pytest.mark.slow

PART = 5000


@pytest.mark.parametrize("part", range(14))
def test_reader_of_damaged_traces_never_fails(fuzz, part):
    told = fuzz.fuzz(range(part * PART, (part + 1) * PART), "raw")
    assert told["inputs"] == PART
    # The damage must be neither always fatal nor always harmless, otherwise the test is useless.
    assert PART // 2 < told["readable"] < PART
    assert PART // 2 < told["with problems"] < PART
    assert told["events"] > PART


def test_reader_of_undamaged_traces_reports_no_problems(fuzz):
    for trace in fuzz.traces():
        problems = [problem.what for problem in fuzz.check(trace).problems]
        # A file cut after its last byte that is not zero ends inside a chunk, and perhaps inside a record.
        assert set(problems) <= {"cut short inside a chunk", "cut short", "a record that reaches beyond its chunk"}


@pytest.fixture(scope="session")
def whole(fuzz):
    return fuzz.traces()


EDITS = st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(max_size=24), st.integers(0, 24)), min_size=1, max_size=6)


@given(st.integers(0, 100), EDITS)
@settings(max_examples=examples(300), deadline=None)
def test_reader_of_edited_traces_never_fails(fuzz, whole, which, edits):
    trace = whole[which % len(whole)]
    raw, packed = bytearray(trace.raw), bytearray(trace.packed)
    for place, text, removed in edits:
        data = packed if packed and place % 2 else raw
        at = place // 2 % (len(data) + 1)
        data[at : at + removed] = text
    fuzz.check(fuzz.Trace(bytes(raw), bytes(packed)))


@pytest.mark.parametrize("part", range(2))
def test_graph_of_damaged_traces_is_built_and_answers_why(fuzz, whole, part, tmp_path):
    for seed in range(part * 100, part * 100 + 100):
        chance = random.Random(seed)
        folder, _ = create_run(tmp_path / str(seed), name="r", command=["x"], spec="", plan=dump(Plan()))
        for number in range(2):
            trace = fuzz.damaged(chance.choice(whole), chance)
            (folder / f"{number + 1}-{number:016x}.clew").write_bytes(trace.raw)
            if trace.packed:
                (folder / f"{number + 1}-{number:016x}.clewz").write_bytes(trace.packed)
        run = open_run(folder)
        for event in range(0, len(run.graph), 37):
            why(run.graph, event)
