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
OURS, PEER, OTHER = "clew", "VizTracer", "sys.monitoring"
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
    for name, table in tables(runs, machine).items():
        place = re.compile(rf"(<!-- measured: {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
        found = [*place.finditer(text)]
        if len(found) != 1:
            raise SystemExit(f"{document}: `<!-- measured: {name} -->` is there {len(found)} times, not once")
        text = text[: found[0].start(2)] + merged(found[0][2], table) + "\n" + text[found[0].end(2) :]
    document.write_text(text, encoding="utf-8")


def tables(runs: Runs, machine: str) -> dict[str, str]:
    """Each table's Markdown, by its name."""
    return {
        "machine": f"Measured on {machine}.",
        "added": _programs(runs, ADDED, (OURS, PEER, OTHER), ()),
        "ratios": _programs(runs, RATIO, (OURS, PEER), SLOWER),
        "around": _around(runs),
    }


def merged(before: str, now: str) -> str:
    """The table of now, and in the places that it has nothing for, what stood there before."""
    old, new = _cells(before), _cells(now)
    if not old:
        return now
    if not new:
        return before.rstrip("\n")
    columns: list[Column] = []
    for version in dict.fromkeys(version for table in (new, old) for version, _ in _columns(table)):
        columns += dict.fromkeys(column for table in (new, old) for column in _columns(table) if column[0] == version)
    lines = [line(["", *(version if tracer == OURS else tracer for version, tracer in columns)])]
    lines.append(line(["---"] * (1 + len(columns))))
    for name in dict.fromkeys([*old, *new]):
        values = {**old.get(name, {}), **{at: cell for at, cell in new.get(name, {}).items() if cell != NOTHING}}
        lines.append(line([name, *(values.get(column, NOTHING) for column in columns)]))
    return "\n".join(lines)


def _columns(table: Cells) -> list[Column]:
    return [*next(iter(table.values()))]


def _cells(table: str) -> Cells:
    """Of each row by its name; none of what is no table."""
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


def _programs(runs: Runs, what: str, shown: Sequence[str], first_only: Sequence[str]) -> str:
    """A row for each program, a column for each interpreter and tracer that has a figure."""
    cells: dict[str, dict[tuple[str, str], str]] = {}
    columns: dict[tuple[str, str], None] = {}
    for place, (version, rows) in enumerate(runs.items()):
        for tracer in (*shown, *(() if place else first_only)):
            for row in rows:
                if row["name"].endswith(what) and tracer in (OURS, row["peer"]):
                    columns[version, tracer] = None
                    value = row["ours"] if tracer == OURS else row["peer_value"]
                    missed = "" if tracer != OURS or row["met"] is not False else f" (asked {number(row['asked'])})"
                    of_program = cells.setdefault(row["name"].removesuffix(what), {})
                    if row["asked"] is not None or (version, tracer) not in of_program:
                        of_program[version, tracer] = number(value) + missed
    head = [f"{version}" if tracer == OURS else f"{tracer}" for version, tracer in columns]
    lines = [line(["", *head]), line(["---"] * (1 + len(columns)))]
    lines += [line([name, *(found.get(column, NOTHING) for column in columns)]) for name, found in cells.items()]
    return "\n".join(lines)


def _around(runs: Runs) -> str:
    """All that is not the cost of a call: a row for each figure, ours and VizTracer's of each interpreter."""
    cells: dict[str, dict[str, tuple[str, str]]] = {}
    asked: dict[str, str] = {}
    for version, rows in runs.items():
        for row in rows:
            if not row["name"].endswith((ADDED, RATIO)):
                name = f"{re.sub(r'[0-9,]{4,} ', '', row['name'])}, {row['unit']}"
                cells.setdefault(name, {})[version] = number(row["ours"]), number(row["peer_value"])
                asked.setdefault(name, NOTHING if row["asked"] is None else number(row["asked"]))
    head = [cell for version in runs for cell in (version, PEER)]
    lines = [line(["", ASKED, *head]), line(["---"] * (2 + len(head)))]
    for name, found in cells.items():
        lines.append(
            line([name, asked[name], *(cell for version in runs for cell in found.get(version, (NOTHING, NOTHING)))])
        )
    return "\n".join(lines)
