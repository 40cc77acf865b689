"""Lay out a table for a terminal that is too narrow: each row as a few lines, texts first, named numbers below.

Invariant: no cell is omitted or cut; only the arrangement differs from the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Column, Table

LEAST = 12
"""Minimum width of a text column in characters; narrower columns are unreadable."""
GAP = 2
INDENT = 4
NOTHING = "–"


def is_too_narrow(width: int, what: Table) -> bool:
    """Tell whether a table would fold texts into unreadably narrow columns at the terminal's width."""
    needed = 0
    for column in what.columns:
        natural = max(_length(cell) for cell in (column.header, *column.cells))
        needed += natural if _is_number(column) else min(natural, LEAST)
    return needed + GAP * (len(what.columns) - 1) > width


def stacked(width: int, what: Table) -> Group:
    """Return the rows one below the other, for a terminal of that width."""
    from rich.console import Group
    from rich.text import Text

    lines: list[RenderableType] = []
    cells = [list(column.cells) for column in what.columns]
    for row in zip(*cells, strict=True):
        pairs = list(zip(what.columns, row, strict=True))
        texts = [cell for column, cell in pairs if not _is_number(column) and _length(cell)]
        numbers = [(str(column.header), str(cell)) for column, cell in pairs if _is_number(column)]
        if texts:
            lines.append(Text(" " * GAP).join(cell if isinstance(cell, Text) else Text(str(cell)) for cell in texts))
        if any(value for _, value in numbers):
            named = [f"{name} {value or NOTHING}".strip() for name, value in numbers]
            lines.extend(Text(" " * INDENT + line) for line in _filled(named, width - INDENT))
    return Group(*lines)


def _filled(numbers: Sequence[str], width: int) -> list[str]:
    """Return lines of at most `width` characters; a number and its name are never separated."""
    lines: list[str] = []
    for number in numbers:
        longer = f"{lines[-1]} · {number}" if lines else ""
        if lines and _length(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(number)
    return lines


def _is_number(column: Column) -> bool:
    return column.justify == "right"


def _length(cell: RenderableType) -> int:
    from rich.cells import cell_len

    return max((cell_len(line) for line in str(cell).splitlines()), default=0)
