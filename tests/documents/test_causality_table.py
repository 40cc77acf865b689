"""Each row of the table of causality names a test, and each named test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = "| primitive | edge | identity | cost | test |"
WAITS = "| primitive | channel | the object is | holders | test |"


def rows(table: str = TABLE) -> list[list[str]]:
    lines = (ROOT / "docs" / "causality.md").read_text(encoding="utf-8").splitlines()
    begin = lines.index(table) + 2
    end = next(place for place in range(begin, len(lines)) if not lines[place].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[begin:end]]


def defined() -> set[str]:
    return {
        f"{file.name}::{node.name}"
        for folder in ("instrument", "graph")
        for file in (ROOT / "tests" / folder).rglob("test_*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }


def test_causality_table_rows_are_complete_and_name_existing_tests() -> None:
    there = defined()
    table = rows()
    assert len(table) > 15
    for row in (*table, *rows(WAITS)):
        assert len(row) == 5, row
        named = re.findall(r"test_\w+\.py::test_\w+", row[4])
        assert named, f"{row[0]} names no test"
        assert not set(named) - there, f"{row[0]} names a test that does not exist"


def test_causality_table_has_one_row_per_primitive() -> None:
    primitives = [row[0] for row in rows()]
    assert len(set(primitives)) == len(primitives)
