"""The timeline of a report: tiles of a few scales, the longest arrows, and the longest calls.

Invariant: a scale is either complete for every listed row, or missing; the answer's message states what is missing.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.ops.timeline.bars import CELL_ASLEEP, NAMED
from clew.server.protocol.codec import encode
from clew.server.protocol.views.timeline import (
    TimelineArrowsParams,
    TimelineLane,
    TimelineParams,
    TimelineResult,
    TimelineTileParams,
    TimelineTileResult,
)
from clew.server.reports.book import Book, Question, size_of
from clew.server.session.session import Session, Task
from clew.server.text import units
from clew.server.views.timeline.view import (
    MAX_ARROWS,
    TILE,
    longest_calls,
    timeline_arrows,
    timeline_tile,
    timeline_view,
)

STRANDS = (200, 40, 8)
"""Numbers of threads and tasks to try; the first with which the whole run fits is used."""
COARSEST = 1024
"""Maximum number of buckets of the whole run at the coarsest scale; each finer scale has four times as many."""
STEP = 2
SCALES = 8
MOST_CELLS = 1 << 25
"""Maximum number of cells of a scale; a browser needs 100 MB for them while it shows the scale."""
CALLS = 2000
SHARE = 0.5
"""Share of the remaining space; the rest is for source."""


def add_timeline(session: Session, book: Book, run: str, task: Task) -> dict[str, Any] | None:
    """Return the data for tiles, arrows and calls, or None if the run has no calls or nothing fits."""
    question = Question("When", "Activity of threads and tasks over time", "timeline", {"run": run})
    room = int(book.room * SHARE)
    for most in STRANDS:
        result = timeline_view(session, TimelineParams(run=run, maxStrands=most), task)
        if not result.functions:
            book.leave_out(question, result.message)
            return None
        painted = _Painted(session, result, task)
        scales = painted.scales(room - size_of(encode(result)))
        if scales:
            break
    else:
        book.leave_out(question, "over the size limit (--limit)")
        return None
    shown = [strand.strand for strand in result.strands]
    calls, all_calls = longest_calls(session, run, shown, CALLS, task)
    end = TimelineArrowsParams(run, shown, result.fromNs, result.toNs, MAX_ARROWS)
    found: dict[str, Any] = {
        "functions": painted.functions,
        "scales": scales,
        "arrows": encode(timeline_arrows(session, end, task)),
        "calls": encode(calls),
        "allCalls": all_calls,
    }
    finest = scales[-1]["scale"]
    limits = [
        f"segments down to {units.duration(float(1 << finest))}" if finest else "",
        f"the {len(calls):,} longest of {all_calls:,} calls".replace(",", " ") if len(calls) < all_calls else "",
    ]
    parts = " and ".join(filter(None, limits))
    message = f"The report has {parts}; for the rest run clew view {result.run.name}." if parts else ""
    listed = replace(
        result,
        scales=[scale["scale"] for scale in scales],
        message=" ".join(filter(None, [result.message, message])),
        functions=[*result.functions, *painted.unknown.values()],
    )
    if not book.add(question, encode(listed)):
        return None
    book.size += size_of(found)
    return found


class _Painted:
    """The rows of all shown strands, and one row per process, as tiles."""

    def __init__(self, session: Session, result: TimelineResult, task: Task) -> None:
        self.session, self.result, self.task = session, result, task
        self.lanes = [TimelineLane(process=one.process) for one in result.processes] + [
            TimelineLane(strand=one.strand, depth=depth) for one in result.strands for depth in range(one.depth)
        ]
        self.functions: list[int] = []
        """The sites of all tiles; a cell holds 1 + an index into this list."""
        self.unknown: dict[int, Any] = {}
        self._place: dict[int, int] = {}

    def scales(self, room: int) -> list[dict[str, Any]]:
        """Return as many scales as fit, from the coarsest to the finest."""
        span = int(self.result.toNs - self.result.fromNs)
        scale = max(0, (max(1, span) - 1) // COARSEST).bit_length()
        found: list[dict[str, Any]] = []
        while len(found) < SCALES:
            one = self._scale(scale)
            room -= size_of(one) if one else room + 1
            if one is None or room < 0:
                break
            found.append(one)
            if scale == 0:
                break
            scale = max(0, scale - STEP)
        return found

    def _scale(self, scale: int) -> dict[str, Any] | None:
        length = TILE << scale
        first = int(self.result.fromNs) // length
        tiles = int(self.result.toNs) // length + 1 - first
        width = TILE * tiles
        if width * len(self.lanes) > MOST_CELLS:
            return None
        cells = np.zeros((len(self.lanes), width), np.uint16)
        covers = np.zeros((len(self.lanes), width), np.uint8)
        named: list[npt.NDArray[Any]] = []
        for at in range(0, tiles, 64):
            count = min(64, tiles - at)
            row = 0
            while row < len(self.lanes):
                asked = TimelineTileParams(self.result.run.id, self.lanes[row : row + 500], scale, first + at, count)
                answer = timeline_tile(self.session, asked, self.task)
                part = slice(TILE * at, TILE * (at + count))
                rows = slice(row, row + answer.lanes)
                cells[rows, part], covers[rows, part], bars = self._unpacked(answer)
                bars["row"] += row
                named.append(bars)
                row += answer.lanes
        # A bar over several requests is in each of them.
        bars = np.unique(np.concatenate(named))
        return {
            "scale": scale,
            "first": first,
            "tiles": tiles,
            "rows": [[lane.process, lane.strand, lane.depth] for lane in self.lanes],
            "cells": _packed(cells.astype("<u2", copy=False)),
            "covers": _packed(covers),
            "named": _packed(bars),
        }

    def _unpacked(
        self, answer: TimelineTileResult
    ) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8], npt.NDArray[Any]]:
        """Return the cells, covers and bars of an answer, with indices into the shared list of functions."""
        for one in answer.unknown:
            self.unknown[one.site] = one
        places = np.zeros(len(answer.functions) + 1, np.uint32)
        for at, site in enumerate(answer.functions, 1):
            if site not in self._place:
                self.functions.append(site)
                self._place[site] = len(self.functions)
            places[at] = self._place[site]
        count = answer.lanes * TILE * answer.tiles
        data = base64.b64decode(answer.cells)
        cells = np.frombuffer(data, "<u2", count).astype(np.uint32)
        covers = np.frombuffer(data, np.uint8, count, 2 * count)
        bars = np.frombuffer(base64.b64decode(answer.named), NAMED).copy()
        cells, bars["cell"] = (places[of & (CELL_ASLEEP - 1)] | of & CELL_ASLEEP for of in (cells, bars["cell"]))
        shape = (answer.lanes, -1)
        return cells.astype(np.uint16).reshape(shape), covers.reshape(shape), bars


def _packed(array: npt.NDArray[Any]) -> str:
    """Return the deflated bytes as Base64."""
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode("ascii")
