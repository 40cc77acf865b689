"""The file of a second look with the lines that other tests ran, which its failed test is compared with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

FILE = "compared.json"


@dataclass(frozen=True)
class ComparedTest:
    test: str
    """Its id."""
    outcome: str
    """"passed", "failed" or "skipped", in the second look."""
    lines: dict[str, dict[str, list[int]]]
    """The lines that ran, by file and qualified name of the function."""


def write_compared_tests(folder: Path, tests: Iterable[ComparedTest]) -> None:
    """Raise `OSError`."""
    (folder / FILE).write_text(json.dumps([astuple(one) for one in tests], separators=(",", ":")), encoding="ascii")


def read_compared_tests(folder: Path) -> list[ComparedTest]:
    """Return the compared tests of a second look; none if it has none, or if the file is damaged."""
    try:
        rows = json.loads((folder / FILE).read_bytes())
        return [ComparedTest(str(test), str(outcome), _lines(ran)) for test, outcome, ran in rows]
    except (OSError, ValueError, TypeError, AttributeError):
        return []


def _lines(ran: Any) -> dict[str, dict[str, list[int]]]:
    return {
        str(file): {str(name): [int(line) for line in lines] for name, lines in functions.items()}
        for file, functions in ran.items()
    }
