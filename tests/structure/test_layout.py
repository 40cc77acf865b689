"""The rules of the folders: how many modules lie side by side, how they are named, and which tests import which modules."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "graph",
    "records",
    "compare",
    "esl",
    "instrument",
    "server",
    "cli",
    "query",
    "source",
    "vscode-client/src",
    "tests",
)
MOST = 16
LARGER = {"query/operators": 18}
"""Folders that hold more, and how many: they may only shrink."""
CODE = (".py", ".pyi", ".c", ".h", ".ts")
VAGUE = {
    *("around", "aside", "before", "behind", "beside", "between", "beyond", "inside", "outside", "toward", "within"),
    *("again", "alive", "alone", "anew", "apart", "elsewhere", "here", "meanwhile", "now", "sooner", "together"),
    *(
        "asked",
        "chosen",
        "found",
        "given",
        "known",
        "kept",
        "looked",
        "moved",
        "said",
        "seen",
        "told",
        "wanted",
        "unwanted",
    ),
    *(
        "asking",
        "comparing",
        "doing",
        "giving",
        "growing",
        "knowing",
        "looking",
        "moving",
        "saying",
        "telling",
    ),
}
"""Words that do not say what a module holds: prepositions, adverbs and participles."""
VAGUE_BY_NOW = {"esl/index/kept.py"}


def files(*folders: str) -> list[PurePosixPath]:
    """The files that git tracks or that are new."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"git does not list the files of {ROOT}: {done.stderr.strip()}")
    return [PurePosixPath(line) for line in done.stdout.splitlines() if (ROOT / line).is_file()]


def imports(file: PurePosixPath) -> set[str]:
    """The modules that a Python file imports, and `from` where they come from as well."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def changes_path(file: PurePosixPath) -> bool:
    """Whether the file itself changes `sys.path`; the text of a program that it starts may."""
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "sys.path" or ast.unparse(node.func) == "site.addsitedir":
                return True
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target).startswith("sys.path") for target in targets):
                return True
    return False


def test_folder_with_modules_side_by_side_holds_at_most_sixteen() -> None:
    counts = Counter(str(file.parent) for file in files(*FOLDERS) if file.suffix in CODE)
    assert {name: count for name, count in counts.items() if count > LARGER.get(name, MOST)} == {}


def test_module_name_of_python_says_what_the_module_holds() -> None:
    named = [file for file in files(*FOLDERS) if file.suffix == ".py" and str(file) not in VAGUE_BY_NOW]
    assert [str(file) for file in named if file.stem.removeprefix("test_") in VAGUE] == []


def test_module_of_tests_imports_helpers_from_support_and_oracles_only() -> None:
    python = [file for file in files("tests") if file.suffix == ".py"]
    assert [
        str(file)
        for file in python
        if any(
            name.startswith("tests.") and not name.startswith(("tests.support", "tests.oracles"))
            for name in imports(file)
        )
    ] == []


def test_path_of_modules_is_changed_by_no_test_and_no_benchmark() -> None:
    python = [file for file in files("tests", "benchmarks") if file.suffix == ".py"]
    assert [str(file) for file in python if changes_path(file)] == []


def test_folder_of_tests_is_named_as_the_folder_that_it_tests() -> None:
    others = {
        "api",
        "benchmarks",
        "cpython",
        "documents",
        "e2e",
        "examples",
        "faults",
        "golden",
        "oracles",
        "packages",
        "packaging",
        "structure",
        "support",
    }
    folders = {file.parts[1] for file in files("tests") if len(file.parts) > 2}
    assert folders - others <= {path.name for path in ROOT.iterdir() if path.is_dir()}
