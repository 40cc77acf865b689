"""Describe patterns for readers: their calls line by line, a short title, and an id that is the same in every run.

Invariant: the time depends on the size of the output or on the number of shapes, not on the number of calls below a shape.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from clew.compare.patterns.activation_shapes import Shapes
from clew.compare.patterns.activations import RESUMED, SUSPENDED, WAYS
from clew.compare.patterns.state_diagram import ENDS, End

LONGEST = 72
"""The maximum number of characters of a title."""


class Line(NamedTuple):
    """A group of equal consecutive calls."""

    depth: int
    label: str
    repeats: int
    calls: int
    """The number of calls in one of them, including itself."""
    resumed: bool
    """Whether the call was resumed and not called."""
    end: End
    mean_ns: float
    """The mean time of all calls of the same shape, in patterns or not."""
    event: int
    """The event that begins one of them."""


class Outlines:
    """The outlines, titles and ids of patterns."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._digests: dict[int, bytes] = {}

    def lines(self, inside: Sequence[int], most: int) -> list[Line]:
        """Return up to `most` lines, callers before their callees."""
        found: list[Line] = []
        stack = [(0, shape, repeats) for shape, repeats in reversed(list(_runs(inside)))]
        while stack and len(found) < most:
            depth, shape, repeats = stack.pop()
            found.append(self._line(depth, shape, repeats))
            stack += [(depth + 1, below, many) for below, many in reversed(list(_runs(self._inside(shape))))]
        return found

    def title(self, inside: Sequence[int]) -> str:
        """Return a title such as `handle(parse, store ×3)`, cut if it is too long."""
        text = ""
        stack: list[str | tuple[int, int]] = list(reversed(_with_commas(inside)))
        while stack and len(text) <= LONGEST:
            part = stack.pop()
            if isinstance(part, str):
                text += part
                continue
            shape, repeats = part
            text += self._name(shape)
            below = _with_commas(self._inside(shape))
            after = [f" ×{repeats}"] if repeats > 1 else []
            stack += [*after, *([")", *reversed(below), "("] if below else [])]
        return text if len(text) <= LONGEST and not stack else f"{text[: LONGEST - 4].rstrip(' ,(')} ..."

    def digest(self, inside: Sequence[int]) -> str:
        """Return an id of consecutive calls that does not depend on where and when they occur."""
        return hashlib.blake2b(b"".join(self._digest(shape) for shape in inside), digest_size=6).hexdigest()

    def _digest(self, shape: int) -> bytes:
        needed, waiting = {shape}, [shape]
        while waiting:
            for below in set(self._inside(waiting.pop())):
                if below not in needed and below not in self._digests:
                    needed.add(below)
                    waiting.append(below)
        # The shapes inside a shape have smaller numbers.
        for one in sorted(needed - self._digests.keys()):
            what = int(self._shapes.what[one])
            made = hashlib.blake2b(f"{what % WAYS} {self._label(one)}".encode(), digest_size=16)
            for below, many in _runs(self._inside(one)):
                made.update(self._digests[below] + many.to_bytes(8, "little"))
            self._digests[one] = made.digest()
        return self._digests[shape]

    def _inside(self, shape: int) -> list[int]:
        first = self._shapes.first
        inside: list[int] = self._shapes.inside[int(first[shape]) : int(first[shape + 1])].tolist()
        return inside

    def _label(self, shape: int) -> str:
        return self._shapes.of.labels[int(self._shapes.what[shape]) // WAYS]

    def _name(self, shape: int) -> str:
        """Return the short name of a shape, with marks for suspension and resumption: `numbers…`, `…numbers`."""
        what = int(self._shapes.what[shape])
        name = f"{'…' if what & RESUMED else ''}{short(self._label(shape))}"
        end = what % 4
        return f"{name}…" if end == SUSPENDED else f"{name} {ENDS[end]}" if end else name

    def _line(self, depth: int, shape: int, repeats: int) -> Line:
        shapes = self._shapes
        what = int(shapes.what[shape])
        return Line(
            depth=depth,
            label=self._label(shape),
            repeats=repeats,
            calls=int(shapes.size[shape]),
            resumed=bool(what & RESUMED),
            end=ENDS[what % 4],
            mean_ns=float(shapes.mean_ns[shape]),
            event=int(shapes.of.first[shapes.one_of[shape]]),
        )


def short(label: str) -> str:
    """Return `Class.method` or `function` for `module:qualname`."""
    return label.rpartition(":")[2].replace(".<locals>", "") or label


def _runs(inside: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((shape, sum(1 for _ in group)) for shape, group in groupby(inside))


def _with_commas(inside: Sequence[int]) -> list[str | tuple[int, int]]:
    """Return the runs of equal shapes, separated by commas."""
    parts: list[str | tuple[int, int]] = []
    for run in _runs(inside):
        parts += [", ", run] if parts else [run]
    return parts
