"""Reference implementation of the row order of threads' records in numpy."""

from __future__ import annotations

import numpy as np

from clew.graph.build.row_order import _SEVERAL, _UNUSED, I64, U32, Rows, Thread


def tally_by_columns(strand: U32, base: int, thread: int, count: I64, home: I64) -> None:
    """Do the work of `row_order._tally`."""
    found, records = np.unique(strand, return_counts=True)
    here = found.astype(np.int64) + base
    count[here] += records
    home[here] = np.where(home[here] == _UNUSED, thread, _SEVERAL)


def place_by_columns(thread: Thread, free: I64, to: Rows) -> None:
    """Do the work of `row_order._place`."""
    order = np.argsort(thread.strand, kind="stable")
    found, begin, records = np.unique(thread.strand[order], return_index=True, return_counts=True)
    strands = found.astype(np.int64) + thread.strands_before
    rows = np.empty(len(order), np.int64)
    rows[order] = np.arange(len(order)) + np.repeat(free[strands] - begin, records)
    free[strands] += records
    to.ts[rows], to.kind[rows], to.site[rows] = thread.ts, thread.kind, thread.site
    to.ext[rows] = np.where(thread.ext >= 0, thread.ext + np.int32(thread.extensions_before), np.int32(-1))
    to.sequence[rows] = np.arange(thread.records_before, thread.records_before + len(order))
