"""Compare the C kernel for bars and tiles with its oracle, and both with their definitions, on random records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ops.timeline import bars
from clew.graph.ops.timeline.bars import ASLEEP, BAR, CELL_ASLEEP, NAMED, Bars, bars_of, wider
from clew.records.format.event import Kind
from tests.oracles import timeline
from tests.support.examples import examples

KINDS = [Kind.ENTER, Kind.ENTER, Kind.EXIT, Kind.EXIT, Kind.UNWIND, Kind.SUSPEND, Kind.RESUME, Kind.LOG]
SITES = 4
record = st.tuples(st.sampled_from(KINDS), st.integers(0, SITES - 1), st.sampled_from([0, 1, 3, 40, 1000, -2]))
streams = st.lists(st.lists(record, max_size=40), min_size=1, max_size=4)
PAINTERS = [timeline, bars.painter]


def columns(strands):
    flat = [event for events in strands for event in events]
    kind = np.array([event[0] for event in flat], np.uint8)
    site = np.array([event[1] for event in flat], np.uint32)
    ts = np.concatenate([np.cumsum([event[2] for event in events]) for events in strands]).astype(np.int64)
    return kind, site, ts, np.cumsum([0, *(len(events) for events in strands)]).astype(np.int64)


def regular(rng, length):
    """Return the records of a strand whose calls nest and pause."""
    stack, asleep, found = [], [], []
    for _ in range(length):
        what, after = rng.integers(0, 6), int(rng.integers(0, 200))
        if what < 2:
            stack.append(int(rng.integers(0, SITES)))
            found.append((Kind.ENTER, stack[-1], after))
        elif what < 4 and stack:
            found.append(((Kind.EXIT, Kind.UNWIND)[what - 2], stack.pop(), after))
        elif what == 4 and stack:
            asleep.append(stack.pop())
            found.append((Kind.SUSPEND, asleep[-1], after))
        elif what == 5 and asleep:
            stack.append(asleep.pop())
            found.append((Kind.RESUME, stack[-1], after))
    return found


def made_by(painter, monkeypatch, strands):
    monkeypatch.setattr(bars, "painter", painter)
    kind, site, ts, start = columns(strands)
    depths, exact, depth = bars_of(kind, site, ts, start)
    span = max([*(bar["end"] for bar in exact.bars), 1])
    return Bars(depths, SITES, tuple(wider(exact, SITES, int(span)))), depth


@settings(max_examples=examples(80))
@given(streams, st.integers(-50, 500), st.integers(0, 8), st.integers(1, 20), st.integers(1, 9))
def test_bars_kernel_equals_numpy_oracle(strands, begin, shift, buckets, named):
    with pytest.MonkeyPatch.context() as patch:
        found = [made_by(painter, patch, strands) for painter in PAINTERS]
        (one, one_depth), (two, two_depth) = found
        assert one.depths.tolist() == two.depths.tolist() and one_depth.tolist() == two_depth.tolist()
        assert [level.shift for level in one.levels] == [level.shift for level in two.levels]
        for level, other in zip(one.levels, two.levels, strict=True):
            assert level.row_start.tolist() == other.row_start.tolist()
            assert level.bars.tolist() == other.bars.tolist()
        rows = np.arange(-1, int(one.first_row[-1]), dtype=np.int64)
        tiles = []
        for painter, of in zip(PAINTERS, (one, two), strict=True):
            patch.setattr(bars, "painter", painter)
            tiles.append(of.paint(rows, begin, shift, buckets, named))
        for name in ("cells", "covers", "palette", "named"):
            assert getattr(tiles[0], name).tolist() == getattr(tiles[1], name).tolist(), name


@settings(max_examples=examples(60))
@given(st.integers(0, 10_000), st.integers(0, 120))
def test_bars_equal_simulated_call_stack(seed, length):
    """Compare the bars at every nanosecond with a simulated call stack."""
    events = regular(np.random.default_rng(seed), length)
    kind, site, ts, start = columns([events])
    depths, exact, _ = bars_of(kind, site, ts, start)
    stack: list[int] = []
    for place, (what, which, _) in enumerate(events[:-1]):
        if what in (Kind.ENTER, Kind.RESUME):
            stack.append(which)
        else:
            stack.pop()
        for now in {int(ts[place]), int(ts[place + 1]) - 1}:
            if ts[place] <= now < ts[place + 1]:
                running = []
                for row in range(int(depths[0])):
                    of = exact.bars[exact.row_start[row] : exact.row_start[row + 1]]
                    running += of["key"][(of["begin"] <= now) & (now < of["end"]) & (of["key"] < ASLEEP)].tolist()
                assert running == stack


def test_bars_suspended_call_ends_with_next_sibling_or_caller():
    e, x, s, r = Kind.ENTER, Kind.EXIT, Kind.SUSPEND, Kind.RESUME
    events = [(e, 0, 0), (e, 1, 10), (s, 1, 10), (e, 2, 10), (x, 2, 10), (r, 1, 10), (s, 1, 10), (x, 0, 10)]
    depths, exact, depth = bars_of(*columns([events]))
    assert depths.tolist() == [2] and depth.tolist() == [0, 1, 0, 1, 0, 1, 0, 0]
    assert exact.bars[exact.row_start[1] :].tolist() == [
        (10, 20, 1, 1), (20, 30, 1 | ASLEEP, 2), (30, 40, 2, 3), (50, 60, 1, 5), (60, 70, 1 | ASLEEP, 6),
    ]  # fmt: skip


def test_bars_levels_do_not_overlap_and_keep_total_time():
    events = [regular(np.random.default_rng(seed), 3000) for seed in range(3)]
    kind, site, ts, start = columns(events)
    depths, exact, _ = bars_of(kind, site, ts, start)
    levels = wider(exact, SITES, int(ts.max()))
    assert len(levels) > 3
    for level in levels:
        for row in range(len(level.row_start) - 1):
            of = level.bars[level.row_start[row] : level.row_start[row + 1]]
            assert (of["begin"][1:] >= of["end"][:-1]).all()
            of_exact = exact.bars[exact.row_start[row] : exact.row_start[row + 1]]
            filled = 1 if level.shift < 0 else of["what"] / (2**32 - 1)
            assert (filled * (of["end"] - of["begin"])).sum() == pytest.approx(
                (of_exact["end"] - of_exact["begin"]).sum()
            )
            if level.shift >= 0:
                is_joined = of["what"] < 2**32 - 1
                assert (of["end"] - of["begin"])[is_joined].max(initial=0) < 2 << level.shift


def test_bars_paint_bucket_shows_its_longest_function():
    events = regular(np.random.default_rng(7), 4000)
    kind, site, ts, start = columns([events])
    depths, exact, _ = bars_of(kind, site, ts, start)
    of = Bars(depths, SITES, tuple(wider(exact, SITES, int(ts[-1]))))
    for shift in (0, 3, 5):  # from exact bars: no wider level is so narrow
        painted = Bars(depths, SITES, of.levels[:1]).paint(
            np.arange(int(depths[0]), dtype=np.int64), 500, shift, 300, 4
        )
        for row in range(int(depths[0])):
            bars_here = of.exact(row)
            for bucket in range(0, 300, 7):
                left, right = 500 + (bucket << shift), 500 + ((bucket + 1) << shift)
                inside = np.minimum(bars_here["end"], right) - np.maximum(bars_here["begin"], left)
                ns: dict[int, int] = {}
                for key, length in zip(bars_here["key"].tolist(), inside.tolist(), strict=True):
                    if length > 0:
                        ns[key] = ns.get(key, 0) + length
                cell, cover = int(painted.cells[row, bucket]), int(painted.covers[row, bucket])
                assert (cell == 0) == (not ns)
                if ns:
                    key = int(painted.palette[(cell & ~CELL_ASLEEP) - 1]) | (ASLEEP if cell & CELL_ASLEEP else 0)
                    assert ns[key] == max(ns.values())
                    assert cover == min(255, max(1, int(sum(ns.values()) / (1 << shift) * 255)))


def test_bars_paint_wide_buckets_keep_total_time():
    events = regular(np.random.default_rng(3), 20_000)
    kind, site, ts, start = columns([events])
    depths, exact, _ = bars_of(kind, site, ts, start)
    of = Bars(depths, SITES, tuple(wider(exact, SITES, int(ts[-1]))))
    rows = np.arange(int(depths[0]), dtype=np.int64)
    shift = 12
    buckets = (int(ts[-1]) >> shift) + 1
    covers = of.paint(rows, 0, shift, buckets, 4).covers
    for row in range(int(depths[0])):
        bars_here = of.exact(row)
        time = (bars_here["end"] - bars_here["begin"]).sum()
        assert covers[row].sum() / 255 * (1 << shift) == pytest.approx(time, rel=0.02, abs=40 * (1 << shift) / 255)


@pytest.mark.parametrize("painter", PAINTERS, ids=lambda painter: painter.__name__)
def test_bars_damaged_input_raises(painter):
    good = np.array([(0, 10, 1, 0)], BAR)
    start = np.array([0, 1], np.int64)
    cells, covers = np.zeros((1, 4), np.uint16), np.zeros((1, 4), np.uint8)
    for bad in ((0, 10, 9, 0), (10, 0, 1, 0), (-(1 << 62), 1 << 62, 1, 0)):
        damaged = np.array([bad], BAR)
        with pytest.raises(ValueError, match="damaged"):
            painter.coarser(damaged, start, 4, SITES, good.copy(), start.copy())
    with pytest.raises(ValueError, match="damaged"):
        painter.paint(np.array([(0, 10, 9, 0)], BAR), start, True, SITES, np.array([0]), 0, 1, 4, cells, covers)
    with pytest.raises(ValueError, match="row"):
        painter.paint(good, start, True, SITES, np.array([1]), 0, 1, 4, cells, covers)
    assert NAMED.itemsize == BAR.itemsize == 24  # as in C
