"""Compare the source that each target is joined to by definition, by the numpy oracle and by the C kernel in parts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.build.edge_matching import FAMILIES, pair
from clew.graph.build.row_order import Rows
from clew.graph.kernel import _ingest as kernels
from clew.graph.model.graph import Extensions, Texts
from clew.records.format.event import FLAG_BYTES, EdgeKind, Kind
from tests.oracles.build.edge_matching import by_columns
from tests.support.examples import examples

KINDS = [Kind.SEND, Kind.RECEIVE, Kind.JOIN, Kind.SCOPE_BEGIN, Kind.RELEASE, Kind.ACQUIRE, Kind.DEFINE, Kind.USE, Kind.ENTER,
         Kind.LOG]  # fmt: skip
event = st.tuples(st.sampled_from(KINDS), st.integers(-1, 4), st.integers(0, 6), st.sampled_from([0, 0, 0, FLAG_BYTES]))
"""Kind, key (-1: no extension), time since the strand's previous event, flags."""
runs = st.lists(st.tuples(st.integers(0, 3), st.lists(event, max_size=25)), min_size=1, max_size=7)
"""Strands, each as its process and its events."""


def rows_of(strands, sequence=None, scale=1):
    """Return the rows of strands in process order, recorded one strand after the other unless `sequence` is given."""
    strands = sorted(strands, key=lambda strand: strand[0])
    flat = [(one, extension) for _, events in strands for one, extension in zip(events, itertools.count())]
    ts = [np.cumsum([one[2] for one in events], dtype=np.int64) for _, events in strands]
    kind = np.array([one[0] for one, _ in flat], np.uint8)
    has = np.array([one[1] >= 0 for one, _ in flat], bool)
    extended = [one for one, _ in flat if one[1] >= 0]
    count = len(extended)
    return Rows(
        np.concatenate(ts).astype(np.int64),
        kind,
        np.zeros(len(flat), np.uint32),
        np.where(has, np.cumsum(has) - 1, -1).astype(np.int32),
        np.arange(len(flat), dtype=np.int32) if sequence is None else sequence,
        np.cumsum([0] + [len(events) for _, events in strands]).astype(np.int64),
        np.array([process for process, _ in strands], np.uint32),
        Extensions(
            np.array([one[1] for one in extended], np.uint64) * np.uint64(scale),
            np.zeros(count, np.uint32),
            np.array([one[3] for one in extended], np.uint16),
            Texts(np.zeros(count + 1, np.int64), np.zeros(0, np.uint8)),
        ),
    )


def by_definition(rows):
    """Match edges event by event in time order, using only earlier records."""
    process = np.repeat(rows.process, np.diff(rows.strand_start))
    found, missed = set(), {}
    for edge, source_kind, target_kinds in FAMILIES:
        sent, received = [], set()
        for row in sorted(range(len(rows)), key=lambda row: (rows.ts[row], rows.sequence[row])):
            ext = rows.ext[row]
            if ext < 0 or rows.extensions.flags[ext] & FLAG_BYTES:
                continue
            key, kind = int(rows.extensions.key[ext]), rows.kind[row]
            if kind == source_kind:
                sent.append((key, process[row], row))
            elif kind in target_kinds and key:
                of_key = [one for one in sent if one[0] == key]
                own = [one for one in of_key if one[1] == process[row]]
                usable = own and not (edge == EdgeKind.USE and own[-1] in received)
                source = own[-1] if usable else of_key[-1] if of_key else None
                if source is None:
                    missed[Kind(kind)] = missed.get(Kind(kind), 0) + 1
                    continue
                found.add((source[2], row, int(edge)))
                if source[1] != process[row]:
                    received.add(source)
    return found, missed


def edges_of(edges):
    return set(zip(edges.src.tolist(), edges.dst.tolist(), edges.kind.tolist(), strict=True)), edges.unmatched


@given(runs, st.booleans())
@settings(max_examples=examples(400), deadline=None)
def test_pair_kernel_and_oracle_equal_definition(strands, together):
    rows = rows_of(strands)
    if together:  # records of one thread alternate
        order = np.argsort(rows.ts, kind="stable")
        rows.sequence[order] = np.arange(len(rows))
    expected = by_definition(rows)
    assert edges_of(pair(rows)) == expected
    assert edges_of(by_columns(rows)) == expected


@given(st.integers(0, 2**32), st.integers(1, 400), st.sampled_from([1, 1 << 60, 0x9E3779B97F4A7C15]), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_pair_kernel_with_any_part_size_equals_oracle(seed, granted, scale, wide):
    rng = np.random.default_rng(seed)
    keys = int(rng.integers(1, 600))
    strands = [
        (
            int(rng.integers(0, 4)),
            [
                (KINDS[int(kind)], int(key), int(step), 0)
                for kind, key, step in zip(
                    rng.integers(0, len(KINDS), 400), rng.integers(0, keys, 400), rng.integers(0, 4, 400), strict=True
                )
            ],
        )
        for _ in range(int(rng.integers(1, 6)))
    ]
    rows = rows_of(strands, scale=scale)
    if wide:
        rows = Rows(**{**vars(rows), "sequence": rows.sequence.astype(np.int64)})
    edges = pair(rows, granted)
    assert len(set(edges.dst.tolist())) == len(edges.dst)
    assert edges_of(edges) == edges_of(by_columns(rows))


def test_pair_message_received_elsewhere_is_not_received_by_sender():
    sent = [(Kind.SEND, 1, 0, 0), (Kind.RECEIVE, 1, 10, 0)]
    answer = [(Kind.RECEIVE, 1, 5, 0), (Kind.SEND, 1, 1, 0)]
    edges, _ = edges_of(pair(rows_of([(0, sent), (1, answer)])))
    assert edges == {(0, 2, EdgeKind.USE), (3, 1, EdgeKind.USE)}
    # No other process received this message, so it belongs to the sending process.
    edges, _ = edges_of(pair(rows_of([(0, sent), (1, answer[1:])])))
    assert edges == {(0, 1, EdgeKind.USE)}


def test_pair_at_equal_times_takes_the_earlier_record_first():
    receive, send = (Kind.RECEIVE, 1, 0, 0), (Kind.SEND, 1, 0, 0)
    assert edges_of(pair(rows_of([(0, [send, receive, send])])))[0] == {(0, 1, EdgeKind.USE)}
    rows = rows_of([(0, [receive]), (0, [send])])
    assert edges_of(pair(rows)) == (set(), {Kind.RECEIVE: 1})
    rows.sequence[:] = [1, 0]
    assert edges_of(pair(rows)) == ({(1, 0, EdgeKind.USE)}, {})


def test_pair_many_events_of_one_key_takes_linear_time():
    """Quadratic work would not end with 100,000 events of one key in many processes."""
    rng = np.random.default_rng(3)
    strands = [
        (process, [((Kind.DEFINE, Kind.USE)[int(what)], 1, int(rng.integers(0, 9)), 0) for what in rng.integers(0, 2, 100)])
        for process in range(1000)
    ]  # fmt: skip
    rows = rows_of(strands)
    assert edges_of(pair(rows, 1)) == edges_of(by_columns(rows))


def test_pair_columns_that_do_not_fit_are_refused():
    rows = rows_of([(0, [(Kind.SEND, 1, 0, 0), (Kind.RECEIVE, 1, 0, 0)])])
    tables = np.zeros(256, np.uint8), np.zeros(256, bool), np.zeros(3, np.uint8), np.zeros(3, np.uint8)
    tables[0][[Kind.SEND, Kind.RECEIVE]], tables[1][Kind.SEND] = 1, True
    room = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.uint8)
    good = (rows.kind, rows.ext, rows.ts, rows.sequence, False, rows.strand_start, rows.process, rows.extensions.key,
            rows.extensions.flags, FLAG_BYTES, *tables, 1, *room)  # fmt: skip
    assert kernels.pair(*good)[0] == 1
    for place, wrong in (
        (1, rows.ext + 1), (1, rows.ext[:1]), (2, rows.ts[:1]), (5, rows.strand_start + 1), (6, rows.process[:0]),
        (8, rows.extensions.flags[:1]), (10, tables[0] * 4), (15, room[0][:0]), (16, room[1][:1]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"needed|follow|there"):
            kernels.pair(*good[:place], wrong, *good[place + 1 :])
