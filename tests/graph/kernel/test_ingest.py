"""Compare the C kernels of the build with their numpy oracles on records that nest and on records that do not."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.build import call_nesting, call_times, decode_records, regions
from clew.graph.kernel import _ingest as kernels
from clew.graph.model import edge_order
from clew.records.format.event import Kind, pack_extension, pack_word
from clew.records.format.record_scan import find_end
from tests.oracles import edge_order as order_oracle
from tests.oracles.build import call_nesting as nesting_oracle
from tests.oracles.build import call_times as times_oracle
from tests.oracles.build import decode_records as decode_oracle
from tests.oracles.build import regions as regions_oracle
from tests.support.examples import examples

KINDS = [Kind.ENTER, Kind.EXIT, Kind.UNWIND, Kind.SUSPEND, Kind.RESUME, Kind.RECEIVE, Kind.RELEASE, Kind.SCOPE_BEGIN,
         Kind.SCOPE_END, Kind.REQUEST, Kind.LOG, Kind.PAYLOAD]  # fmt: skip
record = st.tuples(st.sampled_from(KINDS), st.integers(0, 2), st.integers(-1, 3))
streams = st.lists(st.lists(record, max_size=40), min_size=1, max_size=4)


def regular(rng, length):
    """Return the records of a strand whose calls nest, with scopes and pauses."""
    stack, asleep, found = [], [], []
    for _ in range(length):
        what = rng.integers(0, 9)
        site = int(rng.integers(0, 3))
        if what < 2:
            stack.append(site)
            found.append((Kind.ENTER, site, -1))
        elif what < 4 and stack:
            found.append(((Kind.EXIT, Kind.UNWIND)[what - 2], stack.pop(), -1))
        elif what == 4 and stack:
            asleep.append(stack.pop())
            found.append((Kind.SUSPEND, asleep[-1], -1))
        elif what == 5 and asleep:
            stack.append(asleep.pop())
            found.append((Kind.RESUME, stack[-1], -1))
        else:
            kind = (Kind.RECEIVE, Kind.SCOPE_BEGIN, Kind.SCOPE_END, Kind.LOG)[int(rng.integers(0, 4))]
            found.append((kind, 0, int(rng.integers(0, 3))))
    return found


def columns(strands):
    flat = [event for events in strands for event in events]
    kind = np.array([event[0] for event in flat], np.uint8)
    site = np.array([event[1] for event in flat], np.uint32)
    ext = np.array([event[2] for event in flat], np.int32)
    start = np.cumsum([0] + [len(events) for events in strands]).astype(np.int64)
    return kind, site, ext, start


def check(strands):
    kind, site, ext, start = columns(strands)
    ours, theirs = call_nesting.nest(kind, site, start), nesting_oracle.by_columns(kind, site, start)
    for name in ("call", "inner", "enter", "exit", "caller", "unmatched"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert sorted(map(tuple, ours.suspended.tolist())) == sorted(map(tuple, theirs.suspended.tolist()))
    channel = np.array([0, 1, 2, 1], np.uint32)
    region, table = regions.split(kind, ext, channel, ours, start)
    expected, expected_table = regions_oracle.by_columns(kind, ext, channel, theirs, start)
    assert np.array_equal(region, expected)
    for name, column in vars(expected_table).items():
        assert np.array_equal(getattr(table, name), column), name
    ts = np.arange(len(kind), dtype=np.int64) ** 2
    idle = (np.arange(len(kind)) * 7 % 3 == 0) & (len(kind) > 0)
    strand = np.repeat(np.arange(len(strands), dtype=np.uint32), np.diff(start))
    mine = call_times.call_times(ours, ts, strand, start, idle)
    other = times_oracle.call_times_by_columns(theirs, ts, strand, start, idle)
    for name, column in vars(other).items():
        assert np.array_equal(getattr(mine, name), column), name


@given(streams)
@settings(max_examples=examples(300), deadline=None)
def test_ingest_kernels_on_any_records_equal_oracles(strands):
    check(strands)


def test_ingest_kernels_on_long_nested_strands_equal_oracles():
    rng = np.random.default_rng(5)
    for _ in range(20):
        check([regular(rng, 300) for _ in range(3)])


units = st.lists(
    st.tuples(st.integers(1, 28), st.one_of(st.none(), st.tuples(st.integers(0, 9), st.binary(max_size=40)))),
    max_size=30,
)


@given(st.lists(units, max_size=3), st.binary(max_size=160))
@settings(max_examples=examples(200), deadline=None)
def test_decode_kernel_on_any_bytes_equals_oracle(parts, rubbish):
    extents = []
    for part in parts:
        data = b""
        for number, (kind, extended) in enumerate(part):
            extension = pack_extension(extended[0], 3, extended[1]) if extended else b""
            data += (number + 1).to_bytes(8, "little") + pack_word(kind, number, len(extension) // 16).to_bytes(
                8, "little"
            )
            data += extension
        extents.append(data)
    extents.append(rubbish[: find_end(rubbish, bytes(range(1, 256)))[0]])
    ours, theirs = decode_records.decode(extents), decode_oracle.by_columns(extents)
    for name, column in vars(theirs).items():
        assert np.array_equal(getattr(ours, name), column), name


def test_ingest_kernel_with_columns_that_do_not_fit_raises():
    kind, site, _, start = columns([[(Kind.ENTER, 0, -1), (Kind.EXIT, 0, -1)]])
    rows, calls_of = np.empty(2, np.int32), np.empty(1, np.int64)
    good = (
        kind,
        site,
        start,
        False,
        rows,
        rows.copy(),
        calls_of,
        calls_of.copy(),
        calls_of.copy(),
        np.empty(0, np.int64),
    )
    assert kernels.nest(*good) == (1, 0, 0)
    for place, wrong in ((1, site[:1]), (2, start + 1), (4, rows[:1]), (6, calls_of[:0])):
        with pytest.raises(ValueError, match=r"needed|follow"):
            kernels.nest(*good[:place], wrong, *good[place + 1 :])
    with pytest.raises(ValueError, match="extent|ticks"):
        kernels.fill(bytes(16), 0, *[np.empty(0, np.uint64)] * 9)


@given(streams, st.lists(st.tuples(st.integers(0, 159), st.integers(0, 159)), max_size=30), st.randoms())
@settings(max_examples=examples(200), deadline=None)
def test_mark_waits_kernel_equals_oracle(strands, pairs, random):
    kind, _, _, start = columns(strands)
    if not len(kind):
        return
    strand = np.repeat(np.arange(len(strands), dtype=np.uint32), np.diff(start))
    ts = np.array([random.randrange(200) for _ in kind], np.int64)
    ts = ts[np.lexsort((ts, strand))]  # times ascend within a strand
    src = np.array([one % len(kind) for one, _ in pairs], np.int64)
    dst = np.array([other % len(kind) for _, other in pairs], np.int64)
    joined = edge_order.Joined(src, dst, np.ones(len(src), np.uint8))
    ours, theirs = np.zeros(len(kind), bool), np.zeros(len(kind), bool)
    call_times.mark_waits(ours, ts, kind, strand, joined)
    times_oracle.mark_waits_by_columns(theirs, ts, kind, strand, joined)
    assert ours.tolist() == theirs.tolist()


@given(
    st.lists(st.lists(st.tuples(st.sampled_from([Kind.JOIN, Kind.JOIN, Kind.JOIN, Kind.ENTER]), st.integers(0, 3)))),
    st.lists(st.tuples(st.integers(0, 159), st.integers(0, 159)), max_size=60),
)
@settings(max_examples=examples(300), deadline=None)
def test_mark_waits_kernel_equals_oracle_in_long_runs_of_passive_records(strands, pairs):
    kind = np.array([one[0] for events in strands for one in events], np.uint8)
    if not len(kind):
        return
    strand = np.repeat(np.arange(len(strands), dtype=np.uint32), [len(events) for events in strands])
    ts = np.concatenate([np.cumsum([one[1] for one in events]) for events in strands]).astype(np.int64)
    pairs = sorted((one % len(kind), other % len(kind)) for one, other in pairs)
    src, dst = (np.array([pair[place] for pair in pairs], np.int64) for place in (0, 1))
    joined = edge_order.Joined(src, dst, np.ones(len(src), np.uint8))
    ours, theirs = np.zeros(len(kind), bool), np.zeros(len(kind), bool)
    call_times.mark_waits(ours, ts, kind, strand, joined)
    times_oracle.mark_waits_by_columns(theirs, ts, kind, strand, joined)
    assert ours.tolist() == theirs.tolist()


LOOP_KINDS = [Kind.ENTER, Kind.STEP_BEGIN, Kind.STEP_END, Kind.SCOPE_BEGIN, Kind.SCOPE_END]


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(LOOP_KINDS), st.integers(0, 2), st.integers(1, 2)), max_size=30), max_size=4
    ),
    st.sampled_from([np.int32, np.int64]),
)
@settings(max_examples=examples(200), deadline=None)
def test_idle_gaps_kernel_equals_oracle_and_definition(strands, dtype):
    flat = [event for events in strands for event in events]
    kind, site = np.array([one[0] for one in flat], np.uint8), np.array([one[1] for one in flat], np.uint32)
    start = np.cumsum([0] + [len(events) for events in strands]).astype(np.int64)
    sequence = np.cumsum([one[2] for one in flat]).astype(dtype)
    by_loop = np.array([True, False, True])
    ours = call_times.idle_gaps(kind, site, start, sequence, by_loop=by_loop)
    expected = []
    for events in strands:
        for (what, at, _), (then, where, step) in itertools.pairwise(events):
            between = what == Kind.SCOPE_END and then == Kind.SCOPE_BEGIN and at != 1 and where != 1
            expected.append(step > 1 or what == Kind.STEP_END or between)
        expected += [False] * bool(events)
    assert ours.tolist() == expected
    assert times_oracle.idle_gaps_by_columns(kind, site, start, sequence, by_loop=by_loop).tolist() == expected


@given(st.integers(0, 2**32), st.sampled_from([1, 3, 40]), st.integers(0, 200))
@settings(max_examples=examples(100), deadline=None)
def test_edge_order_kernel_equals_oracle(seed, regions, count):
    rng = np.random.default_rng(seed)
    events = 50
    region = np.concatenate((np.arange(regions), rng.integers(0, regions, events))).astype(np.uint32)[:events]
    ext = np.where(rng.random(events) < 0.5, rng.integers(0, 9, events), -1).astype(np.int32)
    channel = rng.integers(0, 3, 9).astype(np.uint32)
    given_ = edge_order.Joined(
        rng.integers(0, events, count), rng.integers(0, events, count), rng.integers(1, 4, count).astype(np.uint8)
    )
    ours, names = edge_order.sort_edges(given_, region, regions, ext, channel)
    theirs, expected = order_oracle.by_columns(given_, region, regions, ext, channel)
    assert names.tolist() == expected.tolist()
    for name, column in vars(theirs).items():
        assert getattr(ours, name).tolist() == column.tolist()
    lines = list(zip(region[given_.src], given_.src, given_.dst, range(count), given_.kind, strict=True))
    assert ours.kind.tolist() == [line[-1] for line in sorted(lines)]


def test_edge_order_kernel_refuses_edges_to_unknown_events():
    one, kind = np.array([0], np.int64), np.zeros(1, np.uint8)
    region, ext, channel = np.zeros(1, np.uint32), np.zeros(1, np.int32), np.zeros(1, np.uint32)
    good = one, one, kind, region, 1, ext, channel, one.copy(), one.copy(), kind.copy(), channel.copy()
    kernels.edges(*good)
    for place, wrong in (
        (0, one + 1),
        (1, one - 1),
        (2, kind[:0]),
        (3, region + 1),
        (4, 0),
        (5, ext + 1),
        (7, one[:0]),
    ):
        with pytest.raises(ValueError, match="needed|there|end"):
            kernels.edges(*good[:place], wrong, *good[place + 1 :])
    scopes = np.array([Kind.SCOPE_END, Kind.SCOPE_BEGIN], np.uint8)
    numbers = np.arange(2, dtype=np.int64)
    with pytest.raises(ValueError, match="site"):
        kernels.idle(scopes, np.ones(2, np.uint32), numbers, True, numbers * 2, np.ones(1, bool), np.zeros(2, bool))
