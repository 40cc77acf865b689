"""Save how each test of a session ended in the run's folder, so that later sessions need not open its graph.

The process that controls the session writes the file at its end, with the tests of all workers. Invariant: a missing or
damaged file means that the outcomes are unknown.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.records.run.directory import write_private

FILE = "tests.json"
FORMAT = 1


def save(folder: Path, outcomes: Mapping[str, str]) -> None:
    """Write the outcome of each test by its id: "passed", "failed", "failed at setup", "skipped", … Raises `OSError`."""
    text = json.dumps({"format": FORMAT, "tests": dict(outcomes)}, ensure_ascii=False, separators=(",", ":"))
    write_private(folder / FILE, text.encode("utf-8", "replace"))


def load(folder: Path) -> dict[str, str] | None:
    """Return the outcomes by the ids of tests, None if they are not known."""
    try:
        data: Any = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            return None
        return {str(node): str(outcome) for node, outcome in data["tests"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
