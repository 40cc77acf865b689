"""Draw a small graph as an SVG image that works on any background.

Invariant: the image is well-formed whatever a label contains. If a graph is too large, only its largest nodes are
drawn, and the image reports the omission.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from clew.graph.render.layered_layout import layered

DRAWN = 200
"""The maximum number of nodes of a graph that is drawn whole."""
LARGEST = 40
"""The number of nodes drawn of a larger graph."""
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN, _TEXT = 210, 38, 56, 14, 12, 20
_KINDS = {"use": "#3b82c4", "sync": "#c2742d", "state": "#8a63b8"}
_PLAIN = "#8a8a8a"
_DASHED = ("next", "sync")
_DASHES = ' stroke-dasharray="4 3"'
_ARC = 34
_LETTERS, _SMALL = 12, 10
_NARROW, _WIDE = frozenset(" fijlrt.,:;'|!()[]/-I"), frozenset("mwMW@%…—")


@dataclass(frozen=True)
class Box:
    """A node of the image."""

    label: str
    note: str
    size: float
    """The value by which nodes are ranked as large or small."""


@dataclass(frozen=True)
class Line:
    """A line between two nodes, by their indices."""

    source: int
    target: int
    kind: str


def draw(boxes: Sequence[Box], lines: Sequence[Line]) -> str:
    """Return the image: nodes from left to right, lines coloured by kind. A node's tooltip has its whole label and
    note.
    """
    omission = ""
    if len(boxes) > DRAWN:
        omission = f"{len(boxes):,} nodes; the {LARGEST} largest are drawn"
        largest = sorted(sorted(range(len(boxes)), key=lambda node: -boxes[node].size)[:LARGEST])
        number = {node: place for place, node in enumerate(largest)}
        boxes = [boxes[node] for node in largest]
        lines = [
            Line(number[line.source], number[line.target], line.kind)
            for line in lines
            if line.source in number and line.target in number
        ]
    places = layered(len(boxes), [(line.source, line.target) for line in lines])
    tallest = max((place for _, place in places), default=0) + 1
    filled = [
        sum(layer == column for layer, _ in places) for column in range(max((at for at, _ in places), default=0) + 1)
    ]
    pairs = {(line.source, line.target): line.kind for line in lines if line.source != line.target}
    drawn = [(a, b, kind, _is_far(places[a][0], places[b][0])) for (a, b), kind in sorted(pairs.items())]
    gap_y = _ARC if any(far for *_, far in drawn) else _GAP_Y
    top = _MARGIN + (_TEXT if omission or not boxes else 0) + gap_y - _GAP_Y
    corner = [
        (
            _MARGIN + layer * (_WIDTH + _GAP_X),
            top + (place + (tallest - filled[layer]) / 2) * (_HEIGHT + gap_y),
        )
        for layer, place in places
    ]
    width = max(2 * _MARGIN + len(filled) * (_WIDTH + _GAP_X) - _GAP_X, 2 * _MARGIN + 8 * len(omission))
    height = top + (tallest * (_HEIGHT + gap_y) - gap_y if boxes else 0) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}" '
        f'font-family="system-ui, sans-serif" font-size="{_LETTERS}">'
    ]
    if omission or not boxes:
        parts.append(
            f'<text x="{_MARGIN}" y="{_MARGIN + 8}" fill="{_PLAIN}">{escape(omission or "nothing to draw")}</text>'
        )
    parts += [
        _arc(corner[a], corner[b], kind) if far else _line(corner[a], corner[b], kind) for a, b, kind, far in drawn
    ]
    parts += [_box(box, *corner[node]) for node, box in enumerate(boxes)]
    return "".join([*parts, "</svg>"])


def _is_far(layer: int, other: int) -> bool:
    """Return whether a line passes other nodes, so that it has to be drawn above them."""
    return abs(other - layer) > 1


def _arc(source: tuple[float, float], target: tuple[float, float], kind: str) -> str:
    colour, dashes = _KINDS.get(kind, _PLAIN), _DASHES if kind in _DASHED else ""
    x, end = source[0] + _WIDTH * 0.6, target[0] + _WIDTH * 0.4
    above = min(source[1], target[1]) - _ARC
    return (
        f'<path d="M{x:g} {source[1]:g}C{x:g} {above:g} {end:g} {above:g} {end:g} {target[1]:g}" '
        f'fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
        f'<path d="M{end:g} {target[1]:g}l-3.5 -6h7z" fill="{colour}"/>'
    )


def _line(source: tuple[float, float], target: tuple[float, float], kind: str) -> str:
    colour, half = _KINDS.get(kind, _PLAIN), _HEIGHT / 2
    forward = source[0] < target[0]
    low = 0 if forward else 9  # offsets a backward line from the forward line next to it
    x, y = source[0] + (_WIDTH if forward else 0), source[1] + half + low
    end, to = target[0] + (0 if forward else _WIDTH), target[1] + half + low
    if source[0] == target[0]:
        x = end = source[0] + _WIDTH
    bend = _GAP_X * (0.5 if forward else -0.5) if source[0] != target[0] else _GAP_X * 0.5
    ahead = -6 if forward else 6
    dashes = _DASHES if kind in _DASHED else ""
    return (
        f'<path d="M{x:g} {y:g}C{x + bend:g} {y:g} {end - bend if x != end else end + bend:g} {to:g} {end:g} {to:g}" '
        f'fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
        f'<path d="M{end:g} {to:g}l{ahead:g} -3.5v7z" fill="{colour}"/>'
    )


def _box(box: Box, x: float, y: float) -> str:
    label = _middle_cut(box.label, (_WIDTH - 16) / _LETTERS)
    note = _end_cut(box.note, (_WIDTH - 16) / _SMALL)
    tip = f"{box.label}\n{box.note}" if box.note else box.label
    two = (
        f'<text x="{x + 8:g}" y="{y + 31:g}" fill="#dde4ee" font-size="{_SMALL}">{_clean(note)}</text>'
        if box.note
        else ""
    )
    return (
        f'<g><title>{_clean(tip)}</title><rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="#46597a"/>'
        f'<text x="{x + 8:g}" y="{y + (17 if box.note else 23):g}" fill="#ffffff">{_clean(label)}</text>{two}</g>'
    )


def _breadth(mark: str) -> float:
    """Return the width of a letter, in letter sizes.

    Widths follow wide fonts, because the font of the viewer is unknown.
    """
    if mark in _NARROW:
        return 0.42
    if mark in _WIDE or not mark.isascii():
        return 1.0
    return 0.8 if mark.isupper() else 0.64


def _fitting(text: str, width: float) -> int:
    """Return how many leading characters fit."""
    for count, breadth in enumerate(accumulate(map(_breadth, text))):
        if breadth > width:
            return count
    return len(text)


def _end_cut(text: str, width: float) -> str:
    return text if _fitting(text, width) == len(text) else text[: _fitting(text, width - 1)] + "…"


def _middle_cut(text: str, width: float) -> str:
    """Cut a text in the middle, because the beginning and end of a name tell most."""
    if _fitting(text, width) == len(text):
        return text
    half = (width - 1) / 2
    return f"{text[: _fitting(text, half)]}…{text[len(text) - _fitting(text[::-1], half) :]}"


def _clean(text: str) -> str:
    """Remove the characters that XML does not allow."""
    return escape("".join(mark if mark == "\n" or mark.isprintable() else "\ufffd" for mark in text))
