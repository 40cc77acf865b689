"""`clew check`: its output and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from clew.cli.commands.spec.check import check

APP = {
    ".git/HEAD": "",
    "app/__init__.py": "",
    "app/wire.py": "def send(message): pass\ndef read(): pass\n",
}


@pytest.fixture
def run(workspace: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def start(files: dict[str, str], *arguments: str) -> Result:
        monkeypatch.chdir(workspace({**APP, **files}))
        return CliRunner().invoke(check, arguments, catch_exceptions=True)

    return start


def test_check_problem_has_its_place_line_and_caret(run: Callable[..., Result]) -> None:
    result = run({"x.esl": "include standard;\n\tscope app.**;\nscop é app.*;"}, "x.esl")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "x.esl:3:1: error: `scop` does not begin a statement; did you mean `scope`?",
        "    scop é app.*;",
        "    ^~~~",
        "x.esl:3:14: error: a statement must end with `;`; add it here",
    ][:3] + [
        "2  scope app.**  2 functions: app.wire:send, app.wire:read",
        "x.esl: 1 error; 1 rule, 2 functions recorded",
    ]


def test_check_prints_the_matches_of_each_rule(run: Callable[..., Result]) -> None:
    spec = "include standard;\nscope app.**;\nsend app.wire:send key message.id as m;\n"
    spec += "receive finish app.wire:read key result.id as m;\n"
    result = run({"x.esl": spec}, "x.esl")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "2  scope app.**                  2 functions: app.wire:send, app.wire:read",
            "3  send app.wire:send            1 function",
            "4  receive finish app.wire:read  1 function",
            "x.esl: no problems; 3 rules, 2 functions recorded",
        ],
    )


def test_check_with_warnings_only_exits_with_0(run: Callable[..., Result]) -> None:
    result = run({"x.esl": "include standard; scope app.wires;"}, "x.esl")
    assert result.exit_code == 0
    assert "x.esl:1:25: warning: no function matches `app.wires`; did you mean `app.wire`?" in result.stdout


def test_check_without_files_checks_every_spec_of_the_workspace(run: Callable[..., Result]) -> None:
    files = {"a.esl": "include http;", "deep/b.esl": "scop;", ".venv/c.esl": "scop;", "node_modules/d.esl": "scop;"}
    result = run(files)
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if "recorded" in line] == [
        "a.esl: no problems; 0 rules, 0 functions recorded",
        "deep/b.esl: 1 error; 0 rules, 0 functions recorded",
    ]


def test_check_without_any_spec_exits_with_2(run: Callable[..., Result], workspace: Callable[..., Path]) -> None:
    run({})
    done = subprocess.run([sys.executable, "-m", "clew", "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no spec found (a file that ends in .esl)" in done.stderr
    assert "Traceback" not in done.stderr


def test_check_of_missing_file_is_a_problem(run: Callable[..., Result]) -> None:
    result = run({}, "nope.esl")
    assert result.exit_code == 1
    assert result.stdout.startswith("nope.esl:1:1: error: the file does not exist")


def test_check_of_folder_checks_the_specs_inside(run: Callable[..., Result]) -> None:
    result = run({"specs/a.esl": "include http;", "b.esl": "scop;"}, "specs")
    assert (result.exit_code, result.stdout) == (0, "specs/a.esl: no problems; 0 rules, 0 functions recorded\n")


def test_check_workspace_option_selects_the_source(run: Callable[..., Result]) -> None:
    files = {
        "other/app/__init__.py": "",
        "other/app/wire.py": "def only(): pass",
        "x.esl": "include http; scope app.wire;",
    }
    result = run(files, "x.esl", "--workspace", "other")
    assert "1 function: app.wire:only" in result.stdout


def test_check_unreadable_source_is_a_note(run: Callable[..., Result]) -> None:
    result = run({"app/bad.py": "def (", "x.esl": "include http; scope app.**;"}, "x.esl")
    assert result.exit_code == 0
    assert "note: " in result.stdout and "bad.py: cannot be parsed by Python" in result.stdout


def test_check_json_has_problems_and_matches(run: Callable[..., Result]) -> None:
    result = run({"x.esl": "include http;\nscope app.wire:send;\nscop;"}, "--json")
    (file,) = json.loads(result.stdout)["files"]
    assert result.exit_code == 1
    assert file["path"] == "x.esl"
    assert file["problems"] == [
        {
            "severity": "error",
            "message": "`scop` does not begin a statement; did you mean `scope`?",
            "line": 3,
            "column": 1,
            "endLine": 3,
            "endColumn": 5,
            "fix": "scope",
        }
    ]
    (rule,) = file["rules"]
    assert (rule["line"], rule["statement"], rule["pattern"]) == (2, "scope", "app.wire:send")
    assert rule["functions"] == [
        {"name": "app.wire:send", "file": os.path.abspath("app/wire.py"), "line": 1, "atRunTime": ""}
    ]


def test_check_help_shows_examples(run: Callable[..., Result]) -> None:
    assert "clew check app.esl --workspace src" in run({}, "--help").stdout


def test_check_of_non_spec_file_prints_the_first_problems(
    run: Callable[..., Result],
) -> None:
    result = run({"x.esl": "wrong line;\n" * 5000}, "x.esl")
    assert result.exit_code == 1
    assert result.stdout.count("error: `wrong` does not begin a statement") == 200
    assert "… and 4,800 more problems; use --json to see all" in result.stdout
    assert "x.esl: 5,000 errors" in result.stdout


def test_check_of_empty_spec_shows_a_minimal_spec(run: Callable[..., Result]) -> None:
    result = run({"x.esl": "// later\n"}, "x.esl")
    assert result.exit_code == 0
    assert "note: this spec is empty; a minimal spec is\n    include standard;" in result.stdout


def test_check_of_non_utf8_file_names_the_line(run: Callable[..., Result], workspace: Callable[..., Path]) -> None:
    run({})
    Path("latin.esl").write_bytes(b"logs;\nscope caf\xe9;\n")
    done = subprocess.run(
        [sys.executable, "-m", "clew", "check", "latin.esl"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert (
        "the file is not UTF-8 text (line 2, byte 15); save it as UTF-8" in done.stdout
        and "Traceback" not in done.stderr
    )
