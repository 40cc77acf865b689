"""Golden texts: the plan of every kind of rule of both papers, and the problems of a spec full of errors.

`CLEW_UPDATE_GOLDEN=1 pytest tests/esl/test_golden.py` rewrites the files; read the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.esl import check, compile_text, render_all
from clew.records.plan import plan as plans
from tests.support.golden import compare

GOLDEN = Path(__file__).parents[1] / "golden" / "esl"
PROJECT = "/project"


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("[!b]*.esl")))
def test_compile_text_of_golden_spec_has_the_golden_plan(name: str) -> None:
    compiled = compile_text((GOLDEN / f"{name}.esl").read_text("utf-8"), f"{name}.esl", PROJECT)
    assert [problem for problem in compiled.problems if problem.severity == "error"] == []
    text = plans.dump(compiled.require())
    assert plans.load(text, name) == compiled.plan
    compare(GOLDEN / f"{name}.plan.json", text + "\n")


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("bad_*.esl")))
def test_compile_text_of_bad_spec_has_the_golden_problems(name: str) -> None:
    text = (GOLDEN / f"{name}.esl").read_text("utf-8")
    compiled = compile_text(text, f"{name}.esl", PROJECT)
    assert compiled.plan is None
    compare(GOLDEN / f"{name}.problems.txt", render_all(compiled.problems, f"{name}.esl", text) + "\n")


def test_check_of_golden_source_has_the_golden_report() -> None:
    spec = GOLDEN / "source" / "app.esl"
    checked = check(spec, GOLDEN / "source")
    report = [render_all(checked.problems, "app.esl", checked.text), ""]
    report += [
        f"{each.rule.title} {each.rule.pattern.text} -> {', '.join(f.label for f in each.functions) or 'nothing'}"
        for each in checked.matches
    ]
    compare(GOLDEN / "source" / "app.problems.txt", "\n".join(report) + "\n")
