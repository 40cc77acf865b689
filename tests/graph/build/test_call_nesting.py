"""Compare call nesting with a stack on random sequences, well-formed and not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.build.call_nesting import nest
from clew.graph.build.split_strands import Steps, number, split
from clew.records.format.event import Kind
from tests.oracles.build.split_strands import split_by_rows
from tests.support.examples import examples

E, X, U, S, R, M = Kind.ENTER, Kind.EXIT, Kind.UNWIND, Kind.SUSPEND, Kind.RESUME, Kind.MARK


def naive(strands):
    """Return per event its call and the call that runs after it, and per call its end and caller."""
    call, inner, ends, callers, row = [], [], {}, {}, 0
    for records in strands:
        stack, asleep, aside, slept = [], [], [], {}
        for kind, site in records:
            mine = stack[-1] if stack else -1
            if kind == E or (kind == R and not any(sites == site for sites, _ in asleep)):
                callers[row] = mine
                ends[row] = -1
                mine = row
                stack.append(row)
            elif kind == R:
                place = max(place for place, (sites, _) in enumerate(asleep) if sites == site)
                mine = asleep.pop(place)[1]
                stack.append(mine)
                stack += [frame for frame, owner in aside if owner == mine]
                aside = [(frame, owner) for frame, owner in aside if owner != mine]
            elif kind in (X, U, S):
                mine = next((frame for frame in reversed(stack) if site_of(strands, frame) == site), -1)
                if mine >= 0:
                    if kind == S:
                        aside += [(frame, mine) for frame in stack[stack.index(mine) + 1 :]]
                    del stack[stack.index(mine) :]
                elif any(sites == site for sites, _ in asleep):
                    place = max(place for place, (sites, _) in enumerate(asleep) if sites == site)
                    mine = asleep.pop(place)[1]
                    if kind == S and stack and stack[0] > slept[mine]:
                        aside += [(frame, mine) for frame in stack]
                        stack.clear()
                elif any(site_of(strands, frame) == site for frame, _ in aside):
                    place = max(place for place, (frame, _) in enumerate(aside) if site_of(strands, frame) == site)
                    mine, owner = aside[place]
                    aside[place:] = [one for one in aside[place + 1 :] if one[1] != owner]
                if mine >= 0:
                    if kind == S:
                        asleep.append((site, mine))
                        slept[mine] = row
                    else:
                        ends[mine] = row
                        aside = [(frame, owner) for frame, owner in aside if owner != mine]
            call.append(mine)
            inner.append(stack[-1] if stack else -1)
            row += 1
    return call, inner, ends, callers


G = Kind.GAP
QUERY, EXECUTE, CLEAN = 1, 2, 3


def nested(*records):
    kind, site = (np.array(column) for column in zip(*records, strict=True))
    return nest(kind.astype(np.uint8), site.astype(np.uint32), np.array([0, len(records)], np.int64))


def test_nest_call_above_a_pausing_coroutine_continues_when_it_resumes():
    found = nested((E, QUERY), (E, EXECUTE), (S, QUERY), (R, QUERY), (X, EXECUTE), (X, QUERY))
    assert (found.enter.tolist(), found.exit.tolist(), found.caller.tolist()) == ([0, 1], [5, 4], [-1, 0])
    assert found.inner.tolist() == [0, 1, -1, 1, 0, -1]
    assert found.suspended.tolist() == [[2, 3]]
    assert found.unmatched == 0


def test_nest_call_above_a_pausing_coroutine_ends_by_an_exception_thrown_into_both():
    found = nested((E, QUERY), (E, EXECUTE), (S, QUERY), (U, EXECUTE), (U, QUERY))
    assert (found.enter.tolist(), found.exit.tolist()) == ([0, 1], [4, 3])
    assert found.unmatched == 0


def test_nest_call_with_a_gap_does_not_continue_with_its_coroutine():
    found = nested((E, QUERY), (E, EXECUTE), (G, EXECUTE), (S, QUERY), (R, QUERY), (E, CLEAN), (X, CLEAN), (X, QUERY))
    assert (found.enter.tolist(), found.exit.tolist(), found.caller.tolist()) == ([0, 1, 5], [7, -1, 6], [-1, 0, 0])


def site_of(strands, row):
    for records in strands:
        if row < len(records):
            return records[row][1]
        row -= len(records)
    raise AssertionError


def run(strands):
    flat = [record for records in strands for record in records]
    start = np.cumsum([0] + [len(records) for records in strands])
    return nest(np.array([k for k, _ in flat], np.uint8), np.array([s for _, s in flat], np.uint32), start)


def agree(strands):
    nesting = run(strands)
    call, inner, ends, callers = naive(strands)
    assert nesting.call.tolist() == call
    assert nesting.inner.tolist() == inner
    assert dict(zip(nesting.enter.tolist(), nesting.exit.tolist(), strict=True)) == ends
    assert dict(zip(nesting.enter.tolist(), nesting.caller.tolist(), strict=True)) == callers


records = st.tuples(st.sampled_from([E, E, X, X, U, S, R, M]), st.integers(1, 3))


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.lists(records, max_size=14), max_size=4))
def test_nest_of_any_sequence_equals_naive_stack(strands):
    agree(strands)


@st.composite
def programs(draw):
    """Return the records of a real strand: calls that nest; some are generators that pause and resume."""
    out, stack, asleep = [], [], []
    for choice in draw(st.lists(st.integers(0, 4), max_size=40)):
        if choice == 0:
            stack.append(draw(st.integers(1, 3)))
            out.append((E, stack[-1]))
        elif choice == 1 and stack:
            out.append((draw(st.sampled_from([X, U])), stack.pop()))
        elif choice == 2 and stack:
            asleep.append(stack.pop())
            out.append((S, asleep[-1]))
        elif choice == 3 and asleep:
            stack.append(asleep.pop())
            out.append((R, stack[-1]))
        else:
            out.append((M, 0))
    return out


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(programs(), max_size=4))
def test_nest_of_well_formed_strand_equals_naive_stack(strands):
    agree(strands)
    assert run(strands).unmatched == 0


def test_nest_suspended_coroutines_keep_their_calls(tmp_path):
    # outer awaits inner; both are suspended, innermost first, and resumed, outermost first.
    nesting = run([[(E, 1), (E, 2), (S, 2), (S, 1), (R, 1), (R, 2), (X, 2), (X, 1)]])
    assert nesting.call.tolist() == [0, 1, 1, 0, 0, 1, 1, 0]
    assert nesting.exit.tolist() == [7, 6]
    assert nesting.caller.tolist() == [-1, 0]
    assert sorted(map(tuple, nesting.suspended.tolist())) == [(2, 5), (3, 4)]


def test_nest_unwind_of_suspended_calls_ends_them():
    nesting = run([[(E, 1), (E, 2), (S, 2), (S, 1), (U, 2), (U, 1)]])
    assert nesting.call.tolist() == [0, 1, 1, 0, 1, 0]
    assert nesting.exit.tolist() == [5, 4]
    assert nesting.unmatched == 0


def test_nest_exit_of_outer_call_closes_inner_call_without_exit():
    nesting = run([[(E, 1), (E, 2), (X, 1), (M, 0)]])
    assert nesting.exit.tolist() == [2, -1]
    assert nesting.inner.tolist() == [0, 1, -1, -1]


def test_nest_recursion_is_matched_innermost_first():
    assert run([[(E, 1), (E, 1), (X, 1), (X, 1)]]).exit.tolist() == [3, 2]


@pytest.mark.parametrize("split", [split, split_by_rows])
def test_split_strands_after_dropped_records_starts_new_strands(split):
    kinds = [
        Kind.STEP_BEGIN,
        Kind.ENTER,
        Kind.GAP,
        Kind.GAP,
        Kind.EXIT,
        Kind.STEP_BEGIN,
        Kind.ENTER,
        Kind.STEP_END,
        Kind.EXIT,
    ]
    kind = np.array(kinds, np.uint8)
    site = np.array([0, 3, 0, 0, 3, 0, 3, 0, 3], np.uint32)
    ext = np.array([0, -1, -1, -1, -1, 0, -1, 0, -1], np.int32)
    key = np.array([70], np.uint64)
    strand, one = split(Steps(), kind, site, ext, key)
    assert strand.tolist() == [1, 1, 2, 2, 2, 3, 3, 3, 2]
    assert one.keys.tolist() == [0, 70, 0, 70]
    assert one.counts.tolist() == [0, 2, 4, 3]
    # A gap of one function's calls, or before the first record, ends no strand; tasks of other threads continue.
    first = np.array([Kind.GAP, Kind.STEP_BEGIN, Kind.GAP, Kind.STEP_END], np.uint8)
    ext = np.array([-1, 0, -1, 0], np.int32)
    strand, other = split(Steps(), first, np.array([0, 0, 3, 0], np.uint32), ext, key)
    assert strand.tolist() == [0, 1, 1, 1]
    strands = number([(1, one), (2, other)])
    assert [numbers.tolist() for numbers in strands.of] == [[0, 1, 2, 3], [4, 3]]
    assert strands.keys == [0, 70, 0, 70, 0]
    assert strands.threads == [1, 1, 1, 1, 2]
    assert strands.tangled([one, other]) == [3]
