"""Compare splitting threads into strands in C with the Python oracle, in one part and in several."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.build.id_remap import Numbers
from clew.graph.build.split_strands import Steps, number, split
from clew.graph.kernel import _ingest as kernels
from clew.records.format.event import Kind
from tests.oracles.build.split_strands import split_by_rows
from tests.support.examples import examples

KINDS = [Kind.STEP_BEGIN, Kind.STEP_END, Kind.GAP, Kind.ENTER]
record = st.tuples(st.sampled_from(KINDS), st.integers(0, 1), st.integers(-1, 5))
KEYS = np.array([0, 70, 1 << 63, 71, 72, 73], np.uint64)


def columns(records):
    kind, site, ext = zip(*records, strict=True) if records else ((), (), ())
    return np.array(kind, np.uint8), np.array(site, np.uint32), np.array(ext, np.int32), KEYS


def split_by_definition(records):
    """Split a thread into strands record by record, by the definition of the format."""
    keys, known, stack, since, unmatched, before = [0], {0: 0}, [0], 0, 0, True
    strands = []
    for kind, site, ext in records:
        key = int(KEYS[ext]) if ext >= 0 else 0
        lost = kind == Kind.GAP and site == 0
        if lost and not before:
            since = len(keys)
            keys.append(0)
            known, stack = {0: since}, [since]
        before = lost
        if kind == Kind.STEP_BEGIN:
            if key not in known:
                known[key] = len(keys)
                keys.append(key)
            stack.append(known[key])
        strands.append(stack[-1])
        if kind == Kind.STEP_END and len(stack) == 1:
            unmatched += 1
        elif kind == Kind.STEP_END:
            if known.get(key) in stack[1:]:
                while stack[-1] != known[key]:
                    stack.pop()
            stack.pop()
    return strands, keys, since, tuple(stack), unmatched


def state_of(steps):
    return steps.keys.tolist(), steps.since, steps.stack, steps.unmatched


@pytest.mark.parametrize("how", [split, split_by_rows])
@given(st.lists(record, max_size=60), st.lists(st.integers(0, 60), max_size=4))
@settings(max_examples=examples(300))
def test_split_strands_in_any_number_of_parts_equals_definition(how, records, cuts):
    strands, *expected = split_by_definition(records)
    steps, found = Steps(), []
    for low, high in itertools.pairwise([0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]):
        strand, steps = how(steps, *columns(records[low:high]))
        found += strand.tolist()
    assert found == strands
    assert state_of(steps) == tuple(expected)
    assert steps.counts.tolist() == [strands.count(strand) for strand in range(len(steps.keys))]


def test_split_strands_of_many_tasks_equals_oracle():
    rng = np.random.default_rng(3)
    key = rng.integers(0, 1 << 63, 5000).astype(np.uint64)
    ext = rng.integers(0, 5000, 40_000).astype(np.int32)
    kind = np.full(len(ext), Kind.STEP_BEGIN, np.uint8)
    kind[1::2] = Kind.STEP_END
    ext[1::2] = ext[::2]
    site = np.zeros(len(ext), np.uint32)
    strand, steps = split(Steps(), kind, site, ext, key)
    other, twin = split_by_rows(Steps(), kind, site, ext, key)
    assert strand.tolist() == other.tolist()
    assert state_of(steps) == state_of(twin)
    assert (steps.keys[strand] == key[ext]).all()


def test_number_task_of_two_threads_is_one_strand_without_drops():
    def taken(*records):
        return split(Steps(), *columns(records))[1]

    begin, end, gap = (Kind.STEP_BEGIN, 0, 1), (Kind.STEP_END, 0, 1), (Kind.GAP, 0, -1)
    ran, other = taken(begin, end), taken(begin, end)
    assert [of.tolist() for of in number([(1, ran), (2, other)]).of] == [[0, 1], [2, 1]]
    # The first thread's strand began before its drop and is not shared: the second thread's task is a new strand.
    dropped = taken(begin, end, gap)
    strands = number([(1, dropped), (2, other)])
    assert [of.tolist() for of in strands.of] == [[0, 1, 2], [3, 4]]
    # A drop in the second thread does not change the first thread's task.
    strands = number([(1, ran), (2, taken(begin, gap, begin))])
    assert [of.tolist() for of in strands.of] == [[0, 1], [2, 1, 3, 1]]


@given(st.dictionaries(st.integers(1, 40) | st.integers(0, (1 << 32) - 1), st.integers(0, 9)), st.data())
def test_id_remap_translates_ids_and_maps_unknown_ids_to_0(ids, data):
    ids[0] = 0
    wanted = data.draw(st.lists(st.sampled_from(sorted(ids)) | st.integers(0, (1 << 32) - 1), max_size=20))
    found = Numbers.of(ids).translate(np.array(wanted, np.uint32))
    assert found.dtype == np.uint32
    assert found.tolist() == [ids.get(number, 0) for number in wanted]


def test_split_of_columns_that_do_not_fit_is_refused():
    kind, site, ext, key = columns([(Kind.ENTER, 0, -1), (Kind.STEP_BEGIN, 0, 1)])
    own, out = np.zeros(1, np.uint64), np.empty(2, np.uint32)
    good = (kind, site, ext, key, own, 0, np.zeros(1, np.uint32), True, out)
    assert kernels.steps(*good)[1:] == (0, np.array([0, 1], np.uint32).tobytes(), 0, False)
    wrong = ((1, site[:1]), (2, ext + 9), (5, 1), (6, np.zeros(0, np.uint32)), (6, np.ones(1, np.uint32)), (8, out[:1]))
    for place, value in wrong:
        with pytest.raises(ValueError, match=r"needed|not there"):
            kernels.steps(*good[:place], value, *good[place + 1 :])
    with pytest.raises(ValueError, match="begin"):
        kernels.nanoseconds(
            np.zeros(1, np.uint64), *[np.zeros(0, kind) for kind in (np.uint64, np.int64, float)], np.zeros(1, np.int64)
        )
