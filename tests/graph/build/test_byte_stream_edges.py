"""Bytes of streams: every read depends on exactly the writes whose bytes it got, or on nothing where that is not certain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.build.byte_stream_edges import pair_bytes
from clew.records.format.event import Kind

W, R = int(Kind.SEND), int(Kind.JOIN)


def pairs(*records, key=7):
    """(time of the write, time of the read) of each edge; records are (kind, process, claim), one a nanosecond."""
    src, dst = pair_bytes(
        np.array([record[0] for record in records], np.uint8),
        np.full(len(records), key, np.uint64),
        np.arange(len(records), dtype=np.int64),
        np.array([record[1] for record in records], np.uint32),
        [record[2] for record in records],
    )
    return list(zip(src.tolist(), dst.tolist(), strict=True))


def test_a_read_depends_on_each_write_of_which_it_got_a_byte():
    found = pairs((W, 0, "+0-10"), (W, 0, "10-20"), (W, 0, "20-30"), (R, 1, "+0-5"), (R, 1, "5-11"), (R, 1, "11-20"))
    assert found == [(0, 3), (0, 4), (1, 4), (1, 5)]


def test_byte_stream_claim_that_was_not_written_belongs_to_the_next_write():
    found = pairs((W, 0, "+0-100"), (W, 0, "40-100"), (R, 1, "+0-40"), (R, 1, "40-100"))
    assert found == [(0, 2), (1, 3)]
    assert pairs((W, 0, "+0-100"), (W, 0, "0-100"), (R, 1, "+0-100")) == [(1, 2)]
    # Another process goes on where it ended.
    found = pairs((W, 0, "+0-100"), (W, 0, "40-40"), (W, 5, "40-50"), (R, 1, "+0-40"), (R, 1, "40-50"))
    assert found == [(0, 3), (2, 4)]
    assert pairs((W, 0, "+0-100"), (W, 0, "0-0"), (W, 5, "0-10"), (R, 1, "+0-10")) == [(2, 3)]


@pytest.mark.parametrize("side", [W, R])
def test_bytes_of_two_processes_and_all_that_follow_have_no_edge(side):
    other = R if side == W else W
    mine, theirs = (
        [(side, 0, "+0-10"), (side, 0, "10-20"), (side, 5, "10-15")],
        [(other, 1, "+0-10"), (other, 1, "10-40")],
    )
    records = mine + theirs if side == W else theirs + mine
    assert [(records[source][2], records[target][2]) for source, target in pairs(*records)] == [("+0-10", "+0-10")]


def test_byte_stream_that_a_process_gave_up_has_no_edges():
    assert pairs((W, 0, "+0-10"), (W, 0, "10-"), (R, 1, "+0-10"), (R, 1, "10-20")) == [(0, 2)]
    assert pairs((W, 0, "+0-10"), (W, 0, "10-20"), (R, 2, "+0-10"), (R, 2, "10-"), (R, 1, "10-20")) == [(0, 2)]
    assert pairs((W, 0, "+0-10"), (W, 0, "0-"), (R, 1, "+0-10")) == []


def test_byte_stream_that_is_taken_over_has_edges_of_the_new_owner_only():
    given = (W, 0, "+0-10"), (W, 0, "10-")
    assert pairs(*given, (W, 5, "=10"), (W, 5, "10-20"), (R, 1, "+0-20")) == [(0, 4), (3, 4)]
    # Two took it, it was given to two, it was taken elsewhere.
    assert pairs(*given, (W, 5, "=10"), (W, 6, "=10"), (W, 5, "10-20"), (R, 1, "+0-20")) == [(0, 5)]
    assert pairs(*given, (W, 0, "10-"), (W, 5, "=10"), (W, 5, "10-20"), (R, 1, "+0-20")) == [(0, 5)]
    assert pairs(*given, (W, 5, "=8"), (W, 5, "8-20"), (R, 1, "+0-20")) == [(0, 4)]
    # On the reading side, too.
    read = (R, 1, "+0-5"), (R, 1, "5-"), (R, 5, "=5"), (R, 5, "5-10")
    assert pairs((W, 0, "+0-10"), *read) == [(0, 1), (0, 4)]


@pytest.mark.parametrize(("mark", "unproved"), [("=", [(2, 3)]), ("~", [])])
def test_the_end_of_a_stream_that_was_taken_over_proves_it(mark, unproved):
    records = (W, 0, "+0-"), (W, 5, mark + "0"), (W, 5, "0-10"), (R, 1, "+0-10")
    assert pairs(*records) == unproved
    assert pairs(*records, (R, 1, "10$")) == [(2, 3)]
    # Somebody wrote what nobody counted.
    assert pairs(*records, (R, 1, "10-15"), (R, 1, "15$")) == []
    assert pairs(*records, (R, 1, "10-15")) == []
    # So may have done who gave it up to somebody else.
    assert pairs(*records, (W, 5, "10-")) == []
    # What went before is known all the same.
    before = (W, 0, "+0-10"), (W, 0, "10-"), (W, 5, mark + "10"), (W, 5, "10-20")
    assert pairs(*before, (R, 1, "+0-20"), (R, 1, "20-30")) == [(0, 4)]
    # The end is another reader's: it says nothing of what this one read.
    assert pairs(*records, (R, 2, "4$")) == unproved


def test_two_connections_of_one_name_have_no_edges():
    assert pairs((W, 0, "+0-10"), (R, 1, "+0-10"), (W, 0, "+0-10"), (R, 1, "+0-10")) == []


def test_a_read_before_its_write_betrays_another_writer():
    assert pairs((W, 0, "+0-10"), (R, 1, "+0-10"), (R, 1, "10-20"), (W, 0, "10-20")) == []


def test_byte_stream_text_that_is_no_claim_is_ignored():
    assert pairs((W, 0, "+0-10"), (W, 0, "damaged"), (R, 1, ""), (R, 1, "+0-10")) == [(0, 3)]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 12), st.integers(0, 12)), max_size=30),
    st.lists(st.integers(1, 20), min_size=1, max_size=12),
)
def test_edges_are_those_of_every_single_byte(steps, requests):
    # A stream that is simulated byte by byte: each byte remembers the write that it came from.
    written, taken, records, expected = [], 0, [], set()
    for place, (writes, size, short) in enumerate(steps):
        if writes:
            records.append((W, 0, f"{len(written)}-{len(written) + size}"))
            written += [len(records) - 1] * (size - min(short, size))
        else:
            size = min(requests[place % len(requests)], len(written) - taken)
            if size:
                records.append((R, 1, f"{taken}-{taken + size}"))
                expected |= {(writer, len(records) - 1) for writer in written[taken : taken + size]}
                taken += size
    assert set(pairs(*records) if records else ()) == expected
