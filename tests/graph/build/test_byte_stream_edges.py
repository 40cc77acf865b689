"""Every read of a byte stream depends on exactly the writes of its bytes; uncertain reads get no edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.build.byte_stream_edges import pair_bytes
from clew.records.format.event import Kind

W, R = int(Kind.SEND), int(Kind.JOIN)


def pairs(*records, key=7):
    """Return (time of write, time of read) of each edge; records are (kind, process, claim), one per nanosecond."""
    src, dst = pair_bytes(
        np.array([record[0] for record in records], np.uint8),
        np.full(len(records), key, np.uint64),
        np.arange(len(records), dtype=np.int64),
        np.array([record[1] for record in records], np.uint32),
        [record[2] for record in records],
    )
    return list(zip(src.tolist(), dst.tolist(), strict=True))


def test_byte_stream_read_depends_on_each_write_of_its_bytes():
    found = pairs((W, 0, "+0-10"), (W, 0, "10-20"), (W, 0, "20-30"), (R, 1, "+0-5"), (R, 1, "5-11"), (R, 1, "11-20"))
    assert found == [(0, 3), (0, 4), (1, 4), (1, 5)]


def test_byte_stream_claim_that_was_not_written_belongs_to_the_next_write():
    found = pairs((W, 0, "+0-100"), (W, 0, "40-100"), (R, 1, "+0-40"), (R, 1, "40-100"))
    assert found == [(0, 2), (1, 3)]
    assert pairs((W, 0, "+0-100"), (W, 0, "0-100"), (R, 1, "+0-100")) == [(1, 2)]
    # Another process continues where it ended.
    found = pairs((W, 0, "+0-100"), (W, 0, "40-40"), (W, 5, "40-50"), (R, 1, "+0-40"), (R, 1, "40-50"))
    assert found == [(0, 3), (2, 4)]
    assert pairs((W, 0, "+0-100"), (W, 0, "0-0"), (W, 5, "0-10"), (R, 1, "+0-10")) == [(2, 3)]


@pytest.mark.parametrize("side", [W, R])
def test_byte_stream_shared_by_two_processes_has_no_further_edges(side):
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
    # Uncertain: two processes took it, it was given away twice, or it was taken at another position.
    assert pairs(*given, (W, 5, "=10"), (W, 6, "=10"), (W, 5, "10-20"), (R, 1, "+0-20")) == [(0, 5)]
    assert pairs(*given, (W, 0, "10-"), (W, 5, "=10"), (W, 5, "10-20"), (R, 1, "+0-20")) == [(0, 5)]
    assert pairs(*given, (W, 5, "=8"), (W, 5, "8-20"), (R, 1, "+0-20")) == [(0, 4)]
    # The same holds for the reading side.
    read = (R, 1, "+0-5"), (R, 1, "5-"), (R, 5, "=5"), (R, 5, "5-10")
    assert pairs((W, 0, "+0-10"), *read) == [(0, 1), (0, 4)]


@pytest.mark.parametrize(("mark", "unproved"), [("=", [(2, 3)]), ("~", [])])
def test_byte_stream_end_proves_a_takeover(mark, unproved):
    records = (W, 0, "+0-"), (W, 5, mark + "0"), (W, 5, "0-10"), (R, 1, "+0-10")
    assert pairs(*records) == unproved
    assert pairs(*records, (R, 1, "10$")) == [(2, 3)]
    # That an end was closed proves nothing: another process may have it, too.
    assert pairs(*records, (W, 5, "10$")) == unproved
    # Somebody wrote bytes that were not counted.
    assert pairs(*records, (R, 1, "10-15"), (R, 1, "15$")) == []
    assert pairs(*records, (R, 1, "10-15")) == []
    # The process that gave the stream up may have written them, too.
    assert pairs(*records, (W, 5, "10-")) == []
    # The earlier bytes are still certain.
    before = (W, 0, "+0-10"), (W, 0, "10-"), (W, 5, mark + "10"), (W, 5, "10-20")
    assert pairs(*before, (R, 1, "+0-20"), (R, 1, "20-30")) == [(0, 4)]
    # The end belongs to another reader and proves nothing about this reader.
    assert pairs(*records, (R, 2, "4$")) == unproved


def test_byte_streams_with_the_same_key_have_no_edges():
    assert pairs((W, 0, "+0-10"), (R, 1, "+0-10"), (W, 0, "+0-10"), (R, 1, "+0-10")) == []


def test_byte_stream_read_before_its_write_has_no_edge():
    assert pairs((W, 0, "+0-10"), (R, 1, "+0-10"), (R, 1, "10-20"), (W, 0, "10-20")) == []


def test_byte_stream_invalid_claim_is_ignored():
    assert pairs((W, 0, "+0-10"), (W, 0, "damaged"), (R, 1, ""), (R, 1, "+0-10")) == [(0, 3)]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 12), st.integers(0, 12)), max_size=30),
    st.lists(st.integers(1, 20), min_size=1, max_size=12),
)
def test_byte_stream_edges_equal_byte_by_byte_simulation(steps, requests):
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
