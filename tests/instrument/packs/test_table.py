"""The table of packs says what there is: a row for each one, with its test."""

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


def test_every_pack_of_a_library_has_a_row_and_every_row_a_pack_and_a_test():
    assert sorted(name for name, _, _ in ROWS) == sorted(set(registry.shipped()) - {"standard"})
    for name, libraries, tests in ROWS:
        assert re.fullmatch(r"[\w .-]+ \d+\.\d+(, [\w .-]+ \d+\.\d+)*", libraries), name
        files = re.findall(r"`(test_\w+\.py)`", tests)
        assert files and all((Path(__file__).parent / file).exists() for file in files), name
        assert any(re.search(rf"include [^;]*\b{name}\b", (Path(__file__).parent / file).read_text()) for file in files)


def test_every_pack_is_a_spec_without_a_problem_and_begins_with_what_it_is_for():
    for name, text in registry.shipped().items():
        compiled = compile_text(text, f"{name}.esl", ROOT)
        assert compiled.plan is not None and not compiled.problems, name
        assert text.startswith("// "), name


def test_packs_of_libraries_that_are_not_imported_record_and_say_nothing(traced):
    names = sorted(set(registry.shipped()) - {"standard", *sys.stdlib_module_names})
    source = f"print(sorted(name for name in {names} if name in sys.modules))"
    found = traced(source, "".join(f"include {name};" for name in names))
    assert found.stdout == "[]\n"
    assert not found.run.events.where(kind="payload").count() and found.requests() == []
    assert [note for process in found.processes for note in process.notes if "in Python" not in note.text] == []
