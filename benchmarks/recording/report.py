"""How a benchmark ends: a Markdown table, then one line of JSON with the same figures."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]
"""name, unit, ours, peer, peer_value, asked, met; a peer each."""


def goal_row(name: str, unit: str, ours: float, asked: float, *, met: bool) -> Row:
    """Return a row with a goal and without a peer."""
    return {"name": name, "unit": unit, "ours": ours, "peer": "", "peer_value": None, "asked": asked, "met": met}


def machine(*, interpreter: bool = True) -> str:
    python = f"Python {platform.python_version()}, " if interpreter else ""
    return f"{platform.machine()}, {os.cpu_count()} cores, {python}{sys.platform}"


def report(benchmark: str, rows: Sequence[Row]) -> None:
    print("\n" + markdown(benchmark, rows) + "\n")
    print(json.dumps({"benchmark": benchmark, "machine": machine(), "rows": rows}))


def markdown(benchmark: str, rows: Sequence[Row]) -> str:
    """A row for each thing that was measured, a column for each peer."""
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    measured: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        measured.setdefault((row["name"], row["unit"]), {})[row["peer"]] = row
    lines = [
        f"`benchmarks/{benchmark}.py`, {machine()}:",
        "",
        line(["", "clew", "asked", *peers]),
        line(["---"] * (3 + len(peers))),
    ]
    for (name, unit), found in measured.items():
        ours = next(iter(found.values()))["ours"]
        values = [number(found[peer]["peer_value"]) if peer in found else "–" for peer in peers]
        asked = next((row for row in found.values() if row["asked"] is not None), None)
        bound = "–" if asked is None else f"{number(asked['asked'])}, {'met' if asked['met'] else '**not met**'}"
        lines.append(line([f"{name}, {unit}", number(ours), bound, *values]))
    return "\n".join(lines)


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def number(value: float | None) -> str:
    """Three digits are more than a machine repeats; what is more has no fraction."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
