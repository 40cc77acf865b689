"""Recordable targets of a workspace: configured programs, the test or file at the cursor, and the programs that the
project declares.

Invariant: the search never imports or runs user code, and every command can be run without a shell.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from clew.server.lsp.settings import Program
from clew.server.protocol.recording import Recordable, RecordableParams, RecordableResult
from clew.server.session.session import Session

Kind = Literal["configured", "test", "file", "script", "package", "tests", "typed"]

_TEST_FILE = re.compile(r"(?:test_.*|.*_test)\.py$")
SKIPPED = {"tests", "test", "docs", "examples", "build", "dist", "node_modules"}
"""Top-level folders that are never programs of the project."""


class Entry(NamedTuple):
    """A location in a file that can be recorded on its own."""

    line: int
    """The line, from 1."""
    name: str
    """The name of a test with its class, `TestShop::test_buys`; "" for the file as a program."""


def recordables(session: Session, params: RecordableParams, _task: object = None) -> RecordableResult:
    """Return the recordable targets, the likeliest first: the typed command, the test at the cursor, the configured
    programs, the file, the project."""
    make = _Maker(session, params.spec)
    if params.command:
        try:
            typed = shlex.split(params.command)
        except ValueError as error:
            return RecordableResult([], f"{params.command}: not a valid command ({error}); check its quotes")
        return RecordableResult([make.program(" ".join(typed), typed, "typed")] if typed else [])
    found = [*_at_cursor(make, session, params)]
    at_cursor = [one for one in found if one.kind == "test"]
    rest = [one for one in found if one.kind != "test"]
    listed = [*at_cursor, *(make.configured(program) for program in session.programs), *rest, *_of_project(make)]
    once = {tuple(one.command): one for one in reversed(listed) if params.kind in ("", one.kind)}
    return RecordableResult(list(once.values())[::-1], "" if once else _nothing(params))


def _nothing(params: RecordableParams) -> str:
    if params.kind == "test":
        return "no test at the cursor; tests are functions named test… in files test_*.py or *_test.py"
    return (
        'found no program or test to record; open a program with `if __name__ == "__main__":`, name programs in the '
        "setting clew.record.programs, or type a command"
    )


class _Maker:
    """Builds the commands: the Python interpreter, the folder and the spec."""

    def __init__(self, session: Session, asked: str = "") -> None:
        self.workspace = session.workspace
        self._asked = asked
        self._spec = session.spec or _only_spec(self.workspace)

    def program(
        self,
        name: str,
        words: Sequence[str],
        kind: Kind,
        *,
        cwd: str = "",
        environment: Sequence[str] = (),
        spec: str = "",
    ) -> Recordable:
        """`words` are in the form that a user would type; `python` is replaced by the interpreter that has clew."""
        folder = str(Path(self.workspace, os.path.expanduser(cwd)))
        command = [sys.executable, "-m", "clew", "run", "--workspace", str(self.workspace)]
        chosen = self._asked or spec or self._spec
        if chosen:
            command += ["--spec", str(Path(self.workspace, chosen))]
        detail = shlex.join(words) + (f", by {chosen}" if chosen else "")
        command += ["--", *_with_python(words)]
        return Recordable(name, detail, kind, command, folder, list(environment))

    def tests(self, name: str, words: Sequence[str], kind: Kind) -> Recordable:
        command = [sys.executable, "-m", "pytest", "--clew", *words]
        return Recordable(name, shlex.join(["pytest", "--clew", *words]), kind, command, str(self.workspace), [])

    def configured(self, program: Program) -> Recordable:
        words = [word.replace("${workspaceFolder}", str(self.workspace)) for word in program.command]
        return self.program(
            program.name, words, "configured", cwd=program.cwd, environment=program.environment, spec=program.spec
        )


def _with_python(words: Sequence[str]) -> list[str]:
    return [sys.executable if words[0] in ("python", "python3") else words[0], *words[1:]]


def _only_spec(workspace: Path) -> str:
    """Return the only spec at the top of a workspace, or "" if there are several."""
    found = [path.name for path in workspace.glob("*.esl")]
    return found[0] if len(found) == 1 else ""


def _at_cursor(make: _Maker, session: Session, params: RecordableParams) -> Iterator[Recordable]:
    if not params.path.endswith(".py"):
        return
    path = Path(params.path)
    shown = str(path.relative_to(make.workspace) if path.is_relative_to(make.workspace) else path)
    found = entries(path.name, session.text(params.path) or "")
    test = around(found, params.line)
    if test is not None:
        yield make.tests(test.name.replace("::", "."), [f"{shown}::{test.name}"], "test")
    if any(entry.name for entry in found):
        yield make.tests(f"all tests of {path.name}", [shown], "tests")
    if any(not entry.name for entry in found):
        yield make.program(path.name, ["python", shown], "file")


def around(found: Sequence[Entry], line: int) -> Entry | None:
    """Return the test that contains a line: the last test that begins before it, if the file has any."""
    return max((entry for entry in found if entry.name and 0 < entry.line <= line), default=None)


@functools.lru_cache(maxsize=16)
def entries(name: str, text: str) -> tuple[Entry, ...]:
    """Return every test of a file by pytest's default rules, and its `if __name__ == "__main__":`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about escapes in the user's strings do not concern clew
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found: list[Entry] = []
    for node in tree.body:
        if isinstance(node, ast.If) and _asks_for_main(node.test):
            found.append(Entry(node.lineno, ""))
        elif _TEST_FILE.match(name):
            found += _tests(node, "", in_case=True)
    return tuple(sorted(found))


def _tests(node: ast.stmt, prefix: str, *, in_case: bool) -> Iterator[Entry]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if in_case and node.name.startswith("test"):
            yield Entry(_first_line(node), prefix + node.name)
    elif isinstance(node, ast.ClassDef):
        case = node.name.startswith("Test") or any("TestCase" in ast.unparse(base) for base in node.bases)
        inner = [entry for child in node.body for entry in _tests(child, f"{prefix}{node.name}::", in_case=case)]
        if case and inner:
            yield Entry(_first_line(node), prefix + node.name)
        yield from inner


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _asks_for_main(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = {ast.unparse(test.left), ast.unparse(test.comparators[0])}
    return sides == {"__name__", "'__main__'"}


def _of_project(make: _Maker) -> Iterator[Recordable]:
    """Yield the programs that the project's files declare."""
    top = make.workspace
    for name in _scripts(top):
        program = Path(sys.executable).with_name(name)
        if program.is_file():  # it is installed next to clew
            yield make.program(name, [str(program)], "script")
    for main in sorted([*top.glob("*/__main__.py"), *top.glob("src/*/__main__.py")]):
        package = main.parent.name
        if package.isidentifier() and package not in SKIPPED:
            environment = ["PYTHONPATH=src"] if main.parent.parent.name == "src" else []
            yield make.program(package, ["python", "-m", package], "package", environment=environment)
    if (top / "manage.py").is_file():
        yield make.program("manage.py", ["python", "manage.py", "runserver", "--noreload"], "file")
    if any((top / mark).exists() for mark in ("tests", "test", "pytest.ini", "conftest.py")):
        yield make.tests("all tests", [], "tests")


def _scripts(top: Path) -> list[str]:
    try:
        project = tomllib.loads((top / "pyproject.toml").read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return []  # the file is missing, or is being edited
    scripts = project.get("scripts", {}) if isinstance(project, dict) else {}
    return sorted(scripts) if isinstance(scripts, dict) else []
