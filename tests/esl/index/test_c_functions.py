"""Rules about modules written in C are accepted with a note, and checked against modules of the standard library."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clew.esl import check
from clew.esl.index.c_functions import functions_in
from clew.source.c_modules import is_compiled


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text("def work(): pass\n")
    return tmp_path / "app.esl"


@pytest.mark.parametrize(
    "rule", ["zlib:compress", "zlib", "_json:*", "_random:Random.getrandbits", "numpy.linalg._umath_linalg"]
)
def test_check_rule_about_c_functions_is_accepted_with_a_note(spec: Path, rule: str) -> None:
    spec.write_text(f"include standard;\nscope app;\nscope {rule};\n")
    checked = check(spec, spec.parent)
    assert checked.problems == ()
    (note,) = checked.notes
    assert note.startswith("app.esl:3: ") or ":3: " in note
    assert f"`{rule}` is written in C: its functions are wrapped" in note


def test_check_misspelt_c_function_proposes_the_nearest_name(spec: Path) -> None:
    spec.write_text("include standard;\nscope zlib:compres;\n")
    (problem,) = check(spec, spec.parent).problems
    assert problem.severity == "warning" and problem.fix == "zlib:compress"
    assert problem.message == "`zlib`, which is written in C, has no function `compres`; did you mean `compress`?"


def test_check_rule_without_source_or_c_module_is_a_warning(spec: Path) -> None:
    spec.write_text("include standard;\nscope nowhere:f;\n")
    checked = check(spec, spec.parent)
    assert ["installed packages are not checked" in problem.message for problem in checked.problems] == [True]
    assert checked.notes == ()


def test_is_compiled_imports_no_package() -> None:
    before = set(sys.modules)
    assert is_compiled("zlib") and is_compiled("time") and not is_compiled("json") and not is_compiled("no.such.module")
    assert is_compiled("numpy.linalg._umath_linalg") and not is_compiled("numpy.linalg")
    assert functions_in("numpy.linalg._umath_linalg") is None, "only the standard library's are imported"
    assert not any(name.startswith("numpy.linalg") for name in set(sys.modules) - before)
    assert "sleep" in (functions_in("time") or ())
