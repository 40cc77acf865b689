"""The table of packs has a row for each pack, with its test."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from clew.esl import compile_text
from clew.esl.packs import registry

ROOT = Path(__file__).parents[3]
ROWS = re.findall(
    r"^\| `(\w+)` \| (.+?) \| .+ \| .+ \| (.+) \|$", (ROOT / "docs" / "packs.md").read_text("utf-8"), re.M
)


def test_packs_table_has_one_row_with_a_test_for_each_pack():
    assert sorted(name for name, _, _ in ROWS) == sorted(set(registry.shipped()) - {"standard"})
    for name, libraries, tests in ROWS:
        assert re.fullmatch(r"[\w .-]+ \d+\.\d+(, [\w .-]+ \d+\.\d+)*", libraries), name
        files = re.findall(r"`(test_\w+\.py)`", tests)
        assert files and all((Path(__file__).parent / file).exists() for file in files), name
        assert any(re.search(rf"include [^;]*\b{name}\b", (Path(__file__).parent / file).read_text()) for file in files)


def test_packs_compile_without_problems_and_begin_with_a_comment():
    for name, text in registry.shipped().items():
        compiled = compile_text(text, f"{name}.esl", ROOT)
        assert compiled.plan is not None and not compiled.problems, name
        assert text.startswith("// "), name


def test_packs_of_unimported_libraries_record_and_note_nothing(traced):
    names = sorted(set(registry.shipped()) - {"standard", *sys.stdlib_module_names})
    source = f"print(sorted(name for name in {names} if name in sys.modules))"
    found = traced(source, "".join(f"include {name};" for name in names))
    assert found.stdout == "[]\n"
    assert not found.run.events.where(kind="payload").count() and found.requests() == []
    assert [note for process in found.processes for note in process.notes if "in Python" not in note.text] == []
