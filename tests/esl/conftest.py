"""Fixtures: workspaces of a few lines and the example specs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.specs.fixtures import workspace

__all__ = ["workspace"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def sketch() -> str:
    """Return a spec with every statement of the language once; highlighting tests and examples rely on these forms."""
    return (ROOT / "tests/golden/esl/sketch.esl").read_text("utf-8")


@pytest.fixture(scope="session")
def specs() -> dict[str, str]:
    """Return every valid spec of the repository."""
    files = [
        *(ROOT / "tests/golden/esl").glob("*.esl"),
        *(ROOT / "tests/golden/recorded").glob("*.esl"),
        *(ROOT / "tests/golden/systems").glob("*.esl"),
        *(ROOT / "examples").glob("*/*.esl"),
        *(ROOT / "esl/packs").glob("*.esl"),
    ]
    return {path.name: path.read_text("utf-8") for path in files if not path.name.startswith("bad_")}
