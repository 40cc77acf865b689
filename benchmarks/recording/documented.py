"""Writes what `record.py` measured into the tables of docs/recording.md, each between `<!-- measured: NAME -->` and
`<!-- end -->`.

Invariants: nothing outside these places is changed, and a table is written whole or not at all; what this run did not measure
stays as an earlier one left it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from recording.report import Row, line, number

DOCUMENT = Path(__file__).parents[2] / "docs" / "recording.md"
ADDED, RATIO = ": added to a call", ": CPU time, untraced is 1"
OURS, PEER, OTHERS = "clew", "VizTracer", ("idle probes", "sys.monitoring")
SLOWER = ("cProfile", "decorator", "OpenTelemetry span")
"""Peers that are shown of one interpreter only, the first one: they are far away on all."""
ASKED, NOTHING = "asked", "–"
_VERSION = re.compile(r"\d+\.\d+")

Column = tuple[str, str]
"""Interpreter and tracer; of a table's column of what was asked, that word and `OURS`."""
Cells = dict[str, dict[Column, str]]
"""Of each row, by its name and column."""
Runs = Mapping[str, Sequence[Row]]
"""By interpreter ("3.11"), what was measured there."""


def rewrite(document: Path, runs: Runs, machine: str) -> None:
    """Raises `SystemExit` where a table has no place."""
    text = document.read_text(encoding="utf-8")
    for name, now in _found(runs, machine).items():
        place = re.compile(rf"(<!-- measured: {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
        found = [*place.finditer(text)]
        if len(found) != 1:
            raise SystemExit(f"{document}: `<!-- measured: {name} -->` is there {len(found)} times, not once")
        shown = now if isinstance(now, str) else _table(merged(_cells(found[0][2]), now))
        text = text[: found[0].start(2)] + shown + "\n" + text[found[0].end(2) :]
    document.write_text(text, encoding="utf-8")


def tables(runs: Runs, machine: str) -> dict[str, str]:
    """Each table's Markdown, by its name."""
    return {name: now if isinstance(now, str) else _table(now) for name, now in _found(runs, machine).items()}


def _found(runs: Runs, machine: str) -> dict[str, str | Cells]:
    return {
        "machine": f"Measured on {machine}.",
        "added": _programs(runs, ADDED, (OURS, PEER, *OTHERS), ()),
        "ratios": _programs(runs, RATIO, (OURS, PEER), SLOWER),
        "around": _around(runs),
    }


def merged(before: Cells, now: Cells) -> Cells:
    """What is now, and in the places that it has nothing for, what there was before."""
    columns: list[Column] = []
    for version in dict.fromkeys(version for table in (now, before) for version, _ in _columns(table)):
        columns += [column for table in (now, before) for column in _columns(table) if column[0] == version]
    found: Cells = {}
    for name in dict.fromkeys([*before, *now]):
        measured = {column: cell for column, cell in now.get(name, {}).items() if cell != NOTHING}
        found[name] = dict.fromkeys(columns, NOTHING) | before.get(name, {}) | measured
    return found


def _columns(table: Cells) -> list[Column]:
    return [*next(iter(table.values()), ())]


def _table(cells: Cells) -> str:
    columns = _columns(cells)
    lines = [line(["", *(version if tracer == OURS else tracer for version, tracer in columns)])]
    lines.append(line(["---"] * (1 + len(columns))))
    return "\n".join([*lines, *(line([name, *of_row.values()]) for name, of_row in cells.items())])


def _cells(table: str) -> Cells:
    """Those of what `_table` wrote; none of what is no table."""
    lines = [[cell.strip() for cell in text.strip("|").split("|")] for text in table.splitlines() if text[:1] == "|"]
    if len(lines) < 3:
        return {}
    columns: list[Column] = []
    version = ""
    for cell in lines[0][1:]:
        if cell == ASKED or _VERSION.fullmatch(cell):
            version = cell
            columns.append((cell, OURS))
        else:
            columns.append((version, cell))
    return {name: dict(zip(columns, cells, strict=True)) for name, *cells in lines[2:]}


def _programs(runs: Runs, what: str, shown: Sequence[str], first_only: Sequence[str]) -> Cells:
    """A row for each program, a column for each interpreter and tracer that has a figure."""
    cells: Cells = {}
    columns: dict[Column, str] = {}
    for place, (version, rows) in enumerate(runs.items()):
        for tracer in (*shown, *(() if place else first_only)):
            for row in rows:
                if row["name"].endswith(what) and tracer in (OURS, row["peer"]):
                    columns[version, tracer] = NOTHING
                    value = row["ours"] if tracer == OURS else row["peer_value"]
                    missed = "" if tracer != OURS or row["met"] is not False else f" (asked {number(row['asked'])})"
                    of_program = cells.setdefault(row["name"].removesuffix(what), {})
                    if row["asked"] is not None or (version, tracer) not in of_program:
                        of_program[version, tracer] = number(value) + missed
    return {name: columns | found for name, found in cells.items()}


def _around(runs: Runs) -> Cells:
    """All that is not the cost of a call: a row for each figure, ours and VizTracer's of each interpreter."""
    cells: Cells = {}
    columns = {(ASKED, OURS): NOTHING, **{(version, tracer): NOTHING for version in runs for tracer in (OURS, PEER)}}
    for version, rows in runs.items():
        for row in rows:
            if not row["name"].endswith((ADDED, RATIO)):
                name = f"{re.sub(r'[0-9,]{4,} ', '', row['name'])}, {row['unit']}"
                of_row = cells.setdefault(name, {**columns, (ASKED, OURS): number(row["asked"])})
                of_row |= {(version, OURS): number(row["ours"]), (version, PEER): number(row["peer_value"])}
    return cells
