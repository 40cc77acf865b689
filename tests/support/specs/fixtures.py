"""Fixtures of tests that write source files of a workspace. A conftest imports the fixtures that its folder uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def workspace(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a folder of files: `workspace({"app/store.py": "…"})`."""

    def make(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return make
