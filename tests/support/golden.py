"""Comparison of texts with golden files."""

from __future__ import annotations

import os
from pathlib import Path


def compare(path: Path, text: str) -> None:
    if os.environ.get("CLEW_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is missing; run with CLEW_UPDATE_GOLDEN=1 and read what it writes"
    assert text == path.read_text("utf-8")
