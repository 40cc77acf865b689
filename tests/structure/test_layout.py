"""Check the rules of folders: the number of modules in one, the names of modules, and the imports of tests."""

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
"""Words that do not name the contents of a module: prepositions, adverbs and participles."""


def files(*folders: str) -> list[PurePosixPath]:
    """Return the files that git tracks, and new files."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"git does not list the files of {ROOT}: {done.stderr.strip()}")
    return [PurePosixPath(line) for line in done.stdout.splitlines() if (ROOT / line).is_file()]


def imports(file: PurePosixPath) -> set[str]:
    """Return the modules that a Python file imports, including the module of each `from` import."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def changes_path(file: PurePosixPath) -> bool:
    """Return whether the file itself changes `sys.path`; programs in its strings may do so."""
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "sys.path" or ast.unparse(node.func) == "site.addsitedir":
                return True
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target).startswith("sys.path") for target in targets):
                return True
    return False


def test_folder_holds_at_most_sixteen_modules() -> None:
    modules = {
        file.with_suffix(".c") if file.suffix == ".h" else file for file in files(*FOLDERS) if file.suffix in CODE
    }
    counts = Counter(str(module.parent) for module in modules)  # a C source and its header are one module
    assert {name: count for name, count in counts.items() if count > MOST} == {}


def test_module_name_is_not_a_vague_word() -> None:
    named = [file for file in files(*FOLDERS) if file.suffix == ".py"]
    assert [str(file) for file in named if file.stem.removeprefix("test_") in VAGUE] == []


def test_tests_import_helpers_only_from_support_and_oracles() -> None:
    python = [file for file in files("tests") if file.suffix == ".py"]
    assert [
        str(file)
        for file in python
        if any(
            name.startswith("tests.") and not name.startswith(("tests.support", "tests.oracles"))
            for name in imports(file)
        )
    ] == []


def test_tests_and_benchmarks_do_not_change_sys_path() -> None:
    python = [file for file in files("tests", "benchmarks") if file.suffix == ".py"]
    assert [str(file) for file in python if changes_path(file)] == []


def test_folder_of_tests_has_name_of_the_tested_folder() -> None:
    others = {
        "api",
        "benchmarks",
        "cpython",
        "documents",
        "e2e",
        "examples",
        "faults",
        "golden",
        "mutants",
        "oracles",
        "packages",
        "packaging",
        "structure",
        "support",
    }
    folders = {file.parts[1] for file in files("tests") if len(file.parts) > 2}
    assert folders - others <= {path.name for path in ROOT.iterdir() if path.is_dir()}
