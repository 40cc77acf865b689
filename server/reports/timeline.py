"""The timeline of a report: tiles of a few scales, the longest arrows, and the longest calls.

Invariant: a scale is there whole, for every row that is listed, or not at all; the answer's message says what is not there.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.graph.bars import CELL_ASLEEP, NAMED
from clew.server import wording
from clew.server.codec import encode
from clew.server.panel.timeline import (
    MAX_ARROWS,
    TILE,
    longest_calls,
    timeline_arrows,
    timeline_tile,
    timeline_view,
)
from clew.server.protocol import (
    TimelineArrowsParams,
    TimelineLane,
    TimelineParams,
    TimelineResult,
    TimelineTileParams,
    TimelineTileResult,
)
from clew.server.reports.book import Book, Question, size_of
from clew.server.session import Session, Task

STRANDS = (200, 40, 8)
"""Threads and tasks: the most for which the whole run fits."""
COARSEST = 1024
"""Buckets that the whole run has at most at the coarsest scale; each further one has four times as many."""
STEP = 2
SCALES = 8
MOST_CELLS = 1 << 25
"""Of a scale, which a browser holds in 100 MB while it is looked at."""
CALLS = 2000
SHARE = 0.5
"""Of the room that is left; the rest is for source."""


def add_timeline(session: Session, book: Book, run: str, task: Task) -> dict[str, Any] | None:
    """What tiles, arrows and calls are taken from; None where there is nothing to show or no room."""
    question = Question("When", "What threads and tasks did when", "timeline", {"run": run})
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
        book.leave_out(question, "more than the file may have (--limit)")
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
    said = [
        f"stretches down to {wording.duration(float(1 << finest))}" if finest else "",
        f"the {len(calls):,} longest of {all_calls:,} calls".replace(",", " ") if len(calls) < all_calls else "",
    ]
    parts = " and ".join(filter(None, said))
    message = f"The report has {parts}; the rest: clew view {result.run.name}." if parts else ""
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
    """Rows of all shown strands, and one of each process, in tiles."""

    def __init__(self, session: Session, result: TimelineResult, task: Task) -> None:
        self.session, self.result, self.task = session, result, task
        self.lanes = [TimelineLane(process=one.process) for one in result.processes] + [
            TimelineLane(strand=one.strand, depth=depth) for one in result.strands for depth in range(one.depth)
        ]
        self.functions: list[int] = []
        """The sites of all tiles; a cell has 1 + a place in it."""
        self.unknown: dict[int, Any] = {}
        self._place: dict[int, int] = {}

    def scales(self, room: int) -> list[dict[str, Any]]:
        """From the coarsest on, as many as have room."""
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
        """An answer's cells, covers and bars, with places in the one list of functions."""
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
    """Base64 of the bytes, deflated."""
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode("ascii")
