"""Every example of docs/queries.md runs, returns an answer that can be shown, and is correctly typed."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

import clew
from tests.support.documented_queries import EXAMPLES, ROOT
from tests.support.runs.query_run import store


@pytest.fixture
def names(new_run):
    assert clew.open  # loads the module that provides comparisons
    return {
        "run": store(new_run("run")),
        "before": store(new_run("before")),
        "after": store(new_run("after"), factor=5),
    }


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_documented_query_example_runs(names, number):
    for statement in ast.parse(EXAMPLES[number]).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), "docs/queries.md", "eval"), names)
            if hasattr(value, "explain"):
                assert value._repr_html_() and value.count() >= 0, ast.unparse(statement)
        else:
            exec(compile(ast.Module([statement], []), "docs/queries.md", "exec"), names)


@pytest.mark.slow
def test_documented_query_examples_pass_mypy(tmp_path):
    file = tmp_path / "examples.py"
    prelude = "import clew\nrun, before, after = clew.open(), clew.open('before'), clew.open('after')\n"
    file.write_text(prelude + "\n".join(EXAMPLES), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(file)]
    # The installed libraries' type hints are written for this Python version.
    command += ["--python-version", ".".join(map(str, sys.version_info[:2]))]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
