"""The documents name exactly the stored pictures, and each picture is small."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
SMALL = 60_000
"""The limit in bytes, since every clone of the repository downloads the pictures."""


def test_pictures_of_documents_are_exactly_the_stored_ones():
    named = set()
    for text in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for path in re.findall(r'(?:\]\(|src="|srcset=")((?:docs/)?images/[^")]+)', text.read_text(encoding="utf-8")):
            named.add((text.parent / path).resolve())
    assert named == set(IMAGES.iterdir())


def test_pictures_exist_in_both_themes_and_are_small():
    names = {file.name for file in IMAGES.iterdir()}
    light = {name.removesuffix("-light.png") for name in names if name.endswith("-light.png")}
    assert names == {f"{name}-{theme}.png" for name in light for theme in ("light", "dark")} and len(light) >= 8
    assert [file.name for file in IMAGES.iterdir() if file.stat().st_size > SMALL] == []
