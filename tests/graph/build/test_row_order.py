"""Compare the order of records in a graph's rows by definition, by the numpy oracle and by the C kernel."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.build import row_order as module
from clew.graph.build.row_order import arrange
from clew.graph.kernel import _ingest as kernels
from tests.oracles.build import row_order as oracle
from tests.support.examples import examples

record = st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans())
"""Strand, time since the thread's previous record, and whether it has an extension."""
processes = st.lists(st.lists(st.lists(record, max_size=20), max_size=3), min_size=1, max_size=3)
STRANDS = 4


def given_to(threads_of):
    """Return the arguments of `arrange`, with a distinct number for every record and extension."""
    number = extension = 0
    found = []
    for threads in threads_of:
        process = SimpleNamespace(
            serials=[],
            times=[],
            kind=[],
            sites=[],
            ext=[],
            strands=[],
            key=[],
            channels=[],
            flags=[],
            text_length=[],
            texts=[],
        )
        for serial, records in enumerate(threads):
            process.serials.append(serial)
            has = np.array([one[2] for one in records], bool)
            count = int(has.sum())
            process.strands.append(np.array([one[0] for one in records], np.uint32))
            process.times.append(np.cumsum([one[1] for one in records], dtype=np.int64))
            process.kind.append((number + np.arange(len(records))).astype(np.uint8))
            process.sites.append((number + np.arange(len(records))).astype(np.uint32))
            process.ext.append(np.where(has, np.cumsum(has) - 1, -1).astype(np.int32))
            process.key.append((extension + np.arange(count)).astype(np.uint64))
            process.channels.append((extension + np.arange(count)).astype(np.uint32) * 2)
            process.flags.append((extension + np.arange(count)).astype(np.uint16))
            length = (extension + np.arange(count)) % 3
            process.text_length.append(length.astype(np.uint16))
            process.texts.append(np.repeat(extension + np.arange(count), length).astype(np.uint8))
            number += len(records)
            extension += count
        found.append(process)
    return found


def by_definition(threads_of):
    """Return (strand, number, ts, has an extension) of every record in row order."""
    found, numbered = [], 0
    homes = {}
    for process, threads in enumerate(threads_of):
        for thread, records in enumerate(threads):
            ts = 0
            for strand, step, has in records:
                ts += step
                found.append((process * STRANDS + strand, numbered, ts, has))
                homes.setdefault(process * STRANDS + strand, set()).add(thread)
                numbered += 1
    return sorted(found, key=lambda one: (one[0], one[2] if len(homes[one[0]]) > 1 else 0, one[1]))


@pytest.fixture(params=["C", "numpy"])
def either(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(module, "_tally", oracle.tally_by_columns)
        monkeypatch.setattr(module, "_place", oracle.place_by_columns)


def check(threads_of):
    expected = by_definition(threads_of)
    rows = arrange(given_to(threads_of), [STRANDS] * len(threads_of))
    assert rows.sequence.tolist() == [one[1] for one in expected]
    assert rows.site.tolist() == [one[1] for one in expected]
    assert rows.kind.tolist() == [one[1] % 256 for one in expected]
    assert rows.ts.tolist() == [one[2] for one in expected]
    assert rows.strand(np.arange(len(rows))).tolist() == [one[0] for one in expected]
    assert rows.process.tolist() == [process for process in range(len(threads_of)) for _ in range(STRANDS)]
    extended = [one[1] for one in sorted(expected, key=lambda one: one[1]) if one[3]]
    count = len(extended)
    assert rows.ext.tolist() == [extended.index(one[1]) if one[3] else -1 for one in expected]
    assert rows.extensions.key.tolist() == list(range(count))
    assert rows.extensions.channel.tolist() == [2 * number for number in range(count)]
    assert rows.extensions.flags.tolist() == list(range(count))
    texts = [rows.extensions.texts[number] for number in range(count)]
    assert texts == [(bytes([number]) * (number % 3)).decode("utf-8", "replace") for number in range(count)]
    for first in (0, len(rows) // 3):
        where = {number: row for row, (_, number, _, _) in enumerate(expected)}
        assert rows.of_records(first, len(rows) // 2).tolist() == [where[n] for n in range(first, len(rows) // 2)]


def test_row_order_kernel_and_oracle_equal_definition(either):
    @given(processes)
    @settings(max_examples=examples(150), deadline=None)
    def hold(threads_of):
        check(threads_of)

    hold()


def test_row_order_of_empty_run_has_no_rows(either):
    rows = arrange([], [])
    assert len(rows) == len(rows.extensions.key) == 0
    assert rows.strand_start.tolist() == [0]


def test_row_order_of_records_without_a_place_is_refused():
    strand, ext = np.zeros(2, np.uint32), np.full(2, -1, np.int32)
    ts, kind, free = np.zeros(2, np.int64), np.zeros(2, np.uint8), np.zeros(1, np.int64)
    start = np.array([0, 2], np.int64)
    columns = ts.copy(), kind.copy(), strand.copy(), ext.copy(), ext.copy()
    good = (strand, ts, kind, strand, ext, 0, 0, 0, start, free, False, *columns)
    kernels.place(*good)
    assert free.tolist() == [2]
    with pytest.raises(ValueError, match="without a place"):
        kernels.place(*good)
    for place, wrong in ((0, strand + 1), (1, ts[:1]), (5, 1), (5, -1), (8, start[:1]), (9, free - 3), (12, kind[:1])):
        free[:] = 0
        with pytest.raises(ValueError, match="needed|follow|place"):
            kernels.place(*good[:place], wrong, *good[place + 1 :])
    with pytest.raises(ValueError, match="not there"):
        kernels.tally(strand + 1, 0, 0, np.zeros(1, np.int64), np.zeros(1, np.int64))
