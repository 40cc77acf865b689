"""The table of docs/testing.md names existing tests, and every file of `tests/e2e`."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
E2E = ROOT / "tests/e2e"
NAMED = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (ROOT / "docs/testing.md").read_text())


def test_editor_table_names_existing_tests_and_every_file():
    assert NAMED
    files = {file.name: file for file in E2E.rglob("test_*.py")}
    assert {file for file, _ in NAMED} == set(files)
    missing = [
        f"{file}::{name}" for file, name in NAMED if not re.search(rf"^def {name}\(", files[file].read_text(), re.M)
    ]
    assert missing == []
