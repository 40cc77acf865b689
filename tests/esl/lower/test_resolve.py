"""A rule matches the same functions as in the traced process, and a rule without matches gets a proposal."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from clew.esl import SourceIndex, check, compile_text
from clew.records.plan.match import rule_matches


def checked(folder: Path, spec: str) -> list[str]:
    return [problem.message for problem in check(folder / "x.esl", folder, text="include standard;" + spec).problems]


def functions_in(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions of an imported module and of its classes whose code is in the file of the module."""
    stack: list[object] = list(vars(module).values())
    seen: set[int] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, staticmethod | classmethod):
            item = item.__func__
        if isinstance(item, property):
            stack += [item.fget, item.fset]
        if id(item) in seen or getattr(item, "__module__", None) != module.__name__:
            continue
        seen.add(id(item))
        if inspect.isclass(item):
            stack += vars(item).values()
        elif isinstance(item, FunctionType) and item.__code__.co_filename == module.__file__:
            yield item


@pytest.mark.parametrize(
    "pattern",
    [
        "chunkstore.**",
        "chunkstore.*",
        "chunkstore.wire",
        "chunkstore.wire:Connection.*",
        "chunkstore.*:*.__init__",
        "chunkstore.store:ChunkStore._*",
        "**:**.lookup",
        "chunk?tore.[x]".replace("[x]", "index:*"),
    ],
)
def test_pattern_matches_the_functions_found_by_importing(
    pattern: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = root / "examples" / "chunkstore"
    monkeypatch.syspath_prepend(str(folder))
    try:
        package = importlib.import_module("chunkstore")
        names = [module.name for module in pkgutil.iter_modules(package.__path__, "chunkstore.")]
        modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
        compiled = compile_text(f"scope {pattern};", folder / "x.esl", folder)
        assert compiled.plan is not None
        (rule,) = compiled.plan.rules
        imported = {
            (function.__module__, function.__qualname__)
            for module in modules
            for function in functions_in(module)
            if rule_matches(rule, module.__name__, function.__qualname__, function.__code__.co_filename)
        }
        ((match),) = check(folder / "x.esl", folder, text=f"scope {pattern};").matches
        found = {(f.module, f.qualname) for f in match.functions if not f.module.endswith("__main__")}
        assert imported and imported <= found
        # Functions nested in functions are found in the source only.
        generated = ("__create_fn__",)
        assert all("<locals>" in qualname or qualname in generated for _, qualname in found - imported)
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "chunkstore"]:
            del sys.modules[name]


def test_pattern_matches_exactly_as_in_the_traced_process(root: Path) -> None:
    index = SourceIndex(root / "examples")
    functions = list(index.all_functions())
    text = "scope chunkstore.** except chunkstore.s*:**, **:*.__init__; scope **; scope chunkstore.wire:Node.*; scope store;"
    result = check(root / "examples" / "x.esl", root / "examples", text=text, index=index)
    for match in result.matches:
        rule = match.rule.rule
        assert list(match.functions) == [f for f in functions if rule_matches(rule, f.module, f.qualname, f.file)]
    counts = [len(match.functions) for match in result.matches]
    assert counts[1] == len(functions) > counts[0] > counts[2] > counts[3] == 0


def test_pattern_with_leading_wildcard_is_limited_to_the_project(workspace: Callable[..., Path]) -> None:
    folder = workspace({"app/__init__.py": "", "app/a.py": "def f(): pass"})
    compiled = compile_text("scope **; scope app.**; scope ?pp.*:f;", folder / "x.esl", folder)
    assert compiled.plan is not None
    assert [rule.target.root for rule in compiled.plan.rules] == [str(folder), "", str(folder)]


def test_pattern_of_plain_module_matches_like_a_package(workspace: Callable[..., Path]) -> None:
    source = "def f(): pass\nclass A:\n    def g(self): pass\n"
    folder = workspace(
        {".git/HEAD": "", "app.py": source, "pkg/__init__.py": source, "pkg/m.py": source, "empty.py": ""}
    )
    found = check(folder / "x.esl", folder, text="include standard;scope app.**;scope pkg.**;")
    assert not found.problems
    assert [[function.label for function in each.functions] for each in found.matches] == [
        ["app:f", "app:A.g"], ["pkg:f", "pkg:A.g", "pkg.m:f", "pkg.m:A.g"],
    ]  # fmt: skip


def test_proposal_for_a_pattern_always_matches_a_function(workspace: Callable[..., Path]) -> None:
    folder = workspace({".git/HEAD": "", "app.py": "", "pkg/__init__.py": "", "pkg/m.py": "x = 1\n"})
    for text in ("app.**", "app", "pkg.**", "pkg.m.**", "app:**", "app:f"):
        (said,) = checked(folder, f"scope {text};")
        assert f"did you mean `{text}`" not in said and f"`{text}`" in said


def test_pattern_matches_a_script_by_its_stem_and_its_path(workspace: Callable[..., Path]) -> None:
    folder = workspace({"tools/job.py": "def main(): pass"})
    result = check(folder / "x.esl", folder, text="scope job; scope tools.job:main; scope tools.**;")
    assert [len(match.functions) for match in result.matches] == [1, 1, 1]


def test_pattern_matches_local_functions_with_or_without_locals(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "def f():\n def g():\n  return lambda: 1"})
    result = check(
        folder / "x.esl", folder, text="scope a:f.g; scope a:f.<locals>.g; scope a:f.g.<lambda>; scope a:f.*;"
    )
    assert [[f.name for f in match.functions] for match in result.matches] == [
        ["f.g"],
        ["f.g"],
        ["f.g.<lambda>"],
        ["f.g"],
    ]


def test_pattern_with_too_many_functions_is_a_warning(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "\n".join(f"def f{n}(): pass" for n in range(1001))})
    (message,) = checked(folder, "scope a;")
    assert "this matches 1001 functions" in message
    assert checked(folder, "scope a except a:f?;") == []


def test_channel_with_an_end_in_the_program_has_both_ends(workspace: Callable[..., Path]) -> None:
    source = "import clew\ndef put(job): clew.send('jobs', job.id)\ndef work(job): pass"
    folder = workspace({"a.py": source})
    assert checked(folder, "receive a:work key job.id as jobs;") == []
    (message,) = checked(folder, "receive a:work key job.id as tasks;")
    assert "`tasks` makes no edge" in message


def test_spec_without_include_is_a_warning_with_a_fix(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "def f(): pass"})
    (problem,) = check(folder / "x.esl", folder, text="scope a;").problems
    assert problem.severity == "warning" and problem.fix == "include standard;\n"
    assert check(folder / "x.esl", folder, text=problem.fix + "scope a;").problems == ()


def test_proposal_for_a_pattern_removes_the_problem(root: Path) -> None:
    folder = root / "tests/golden/esl/source"
    result = check(folder / "app.esl", folder)
    fixes = [problem for problem in result.problems if problem.fix and problem.span.end > problem.span.start]
    assert len(fixes) > 10
    index = SourceIndex(folder)
    for problem in fixes:
        text = result.text[: problem.span.start] + problem.fix + result.text[problem.span.end :]
        left = check(folder / "app.esl", folder, text=text, index=index).problems
        assert problem.message not in [each.message for each in left], problem.message


def test_check_uses_the_given_text_instead_of_the_file(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "def f(): pass", "x.esl": "include standard; scope b;"})
    assert len(check(folder / "x.esl", folder).problems) == 1
    assert check(folder / "x.esl", folder, text="include standard; scope a;").problems == ()


def test_pattern_of_standard_library_method_has_no_problem(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "def f(): pass"})
    assert checked(folder, "scope json.decoder:**; payload queue:Queue.put value len(item);") == []
    (message,) = checked(folder, "scope kafka.producer;")
    assert "installed packages are not checked" in message


def test_pattern_of_a_package_like_a_module_here_keeps_the_note_on_packages(workspace: Callable[..., Path]) -> None:
    folder = workspace({"tenacity_job.py": "def f(): pass"})
    (message,) = checked(folder, "scope tenacity.**;")
    assert message.endswith("installed packages are not checked; did you mean `tenacity_job.**`?")
