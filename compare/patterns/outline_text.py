"""What a pattern is to a reader: its calls line by line, a title that fits one, and a name that is the same in every run.

Invariant: however much is below a shape, nothing here takes longer than what is shown, or than the shapes that there are.
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
"""Characters of a title."""


class Line(NamedTuple):
    """Equal calls in a row."""

    depth: int
    label: str
    repeats: int
    calls: int
    """In one of them, itself included."""
    resumed: bool
    """Did it go on after it was suspended, rather than being called?"""
    end: End
    mean_ns: float
    """Of all calls with what is alike in them, in patterns or not."""
    event: int
    """Where one of them begins."""


class Outlines:
    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._digests: dict[int, bytes] = {}

    def lines(self, inside: Sequence[int], most: int) -> list[Line]:
        """At most so many, callers before what they call."""
        found: list[Line] = []
        stack = [(0, shape, repeats) for shape, repeats in reversed(list(_runs(inside)))]
        while stack and len(found) < most:
            depth, shape, repeats = stack.pop()
            found.append(self._line(depth, shape, repeats))
            stack += [(depth + 1, below, many) for below, many in reversed(list(_runs(self._inside(shape))))]
        return found

    def title(self, inside: Sequence[int]) -> str:
        """`handle(parse, store ×3)`, cut where it would be too long."""
        text = ""
        stack: list[str | tuple[int, int]] = list(reversed(_parted(inside)))
        while stack and len(text) <= LONGEST:
            part = stack.pop()
            if isinstance(part, str):
                text += part
                continue
            shape, repeats = part
            text += self._name(shape)
            below = _parted(self._inside(shape))
            after = [f" ×{repeats}"] if repeats > 1 else []
            stack += [*after, *([")", *reversed(below), "("] if below else [])]
        return text if len(text) <= LONGEST and not stack else f"{text[: LONGEST - 4].rstrip(' ,(')} ..."

    def digest(self, inside: Sequence[int]) -> str:
        """A name for equal calls in a row that is the same wherever and whenever they happen."""
        return hashlib.blake2b(b"".join(self._digest(shape) for shape in inside), digest_size=6).hexdigest()

    def _digest(self, shape: int) -> bytes:
        needed, waiting = {shape}, [shape]
        while waiting:
            for below in set(self._inside(waiting.pop())):
                if below not in needed and below not in self._digests:
                    needed.add(below)
                    waiting.append(below)
        # What is in a shape has a smaller number.
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
        """What was suspended goes on: `numbers…`, `…numbers`."""
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
    """`Class.method` or `function` of `module:qualname`."""
    return label.rpartition(":")[2].replace(".<locals>", "") or label


def _runs(inside: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((shape, sum(1 for _ in group)) for shape, group in groupby(inside))


def _parted(inside: Sequence[int]) -> list[str | tuple[int, int]]:
    """With commas between them."""
    parts: list[str | tuple[int, int]] = []
    for run in _runs(inside):
        parts += [", ", run] if parts else [run]
    return parts
