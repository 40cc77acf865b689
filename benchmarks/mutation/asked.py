"""Ask clew about a mutant: record its test file with `pytest --clew`, then ask for the suspects of its failed test."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation.operators import functions, innermost
from mutation.search import Mutant
from mutation.set_up import Checkout, Place, ended

RECORDED_S = 300
ANSWERED_S = 120


@dataclass(frozen=True)
class Answer:
    """An answer of `clew why --test`; empty if it did not give one."""

    suspects: list[Place] = field(default_factory=list)
    problem: str = ""
    """Why there is no answer."""
    lines: list[tuple[str, int]] = field(default_factory=list)
    """The likeliest lines, by file relative to the package; only with a second look."""
    chain: list[tuple[str, int]] = field(default_factory=list)
    """The lines of the chain of values."""
    decisions: list[tuple[str, int]] = field(default_factory=list)
    """The lines of the chains that tell why something did not run."""
    seconds: float = math.nan
    """How long the answer took."""


def record(mutant: Mutant, checkout: Checkout) -> None:
    """Run the test file of a mutant under `pytest --clew`, in a workspace without earlier sessions."""
    shutil.rmtree(checkout.folder / ".clew", ignore_errors=True)
    environment = checkout.environment()
    # A second look finds the package by pytest's own setting, because the command that takes it must not import a mutant.
    path = shlex.join(environment["PYTHONPATH"].split(os.pathsep))
    command = checkout.pytest("--clew", "--tb=no", "-o", f"pythonpath={path}", mutant.test_file)
    ended(command, checkout.folder, environment, RECORDED_S)


def suspects(mutant: Mutant, checkout: Checkout, *words: str) -> Answer:
    """Return the suspects of the newest session, the likeliest first; `words` are further options of `clew why`."""
    # The analysis must not import a mutated library, so it runs without the package on its path.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
    command = [sys.executable, "-m", "clew", "why", "--test", mutant.test, "--json", *words]
    begun = time.perf_counter()
    printed = ended(command, checkout.folder, environment, ANSWERED_S)
    seconds = time.perf_counter() - begun
    if printed is None:
        return Answer(problem="clew why did not end")
    try:
        answers = json.loads(printed)["answers"]
    except (ValueError, KeyError, TypeError):
        return Answer(problem=printed.strip().partition("\n")[0] or "clew why printed nothing")
    found = (one.get("answer", one).get("failedTest") for one in answers)
    failed = next((one for one in found if one), None)
    if failed is None:
        return Answer(problem="the answer has no suspects")
    value = failed["value"] or {"steps": [], "omitted": []}
    decisions = [step for one in (*failed["unreached"], *value["omitted"]) for step in one["steps"]]
    return Answer(
        _places(failed["suspects"], checkout.code),
        failed["noValue"],
        _lines(failed["lines"], checkout.code),
        _lines(value["steps"], checkout.code),
        _lines(decisions, checkout.code),
        seconds,
    )


def _lines(rows: list[dict[str, Any]], code: Path) -> list[tuple[str, int]]:
    found = [(Path(row["location"]["path"]), row["location"]["line"]) for row in rows if row["location"]]
    return [(str(path.relative_to(code)) if path.is_relative_to(code) else str(path), line) for path, line in found]


def _places(rows: list[dict[str, Any]], code: Path) -> list[Place]:
    """Return the functions of suspects; those outside of the package keep the whole path of their file."""
    found: list[Place] = []
    for row in rows:
        file = (row.get("location") or {}).get("path", "")
        path = Path(file)
        inside = path.is_relative_to(code)
        name = row["function"].rpartition(":")[2]
        found.append((str(path.relative_to(code)) if inside else file, name))
    return list(dict.fromkeys(found))


def mutated_function(mutant: Mutant, checkout: Checkout) -> Place:
    """Return the place of the mutated function, by the mutated source."""
    source = (checkout.code / mutant.file).read_text(encoding="utf-8")
    name = innermost(functions(source), mutant.edit.line)
    return mutant.file, name or mutant.edit.function
