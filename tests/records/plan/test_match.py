"""Patterns name functions: `*` within a dotted part, `**` across parts, and roots exclude installed code."""

import sys
from pathlib import Path

import pytest

from clew.records.plan.match import is_project_file, matches, pattern, plain_qualname, rule_matches
from clew.records.plan.plan import Rule, Target


@pytest.mark.parametrize(
    ("glob", "name", "expected"),
    [
        ("chunkstore.store", "chunkstore.store", True),
        ("chunkstore.*", "chunkstore.store", True),
        ("chunkstore.*", "chunkstore.store.index", False),
        ("chunkstore.**", "chunkstore.store.index", True),
        ("chunkstore.**", "chunkstore", False),
        ("**", "anything.at.all", True),
        ("Chunk*.look?p", "ChunkIndex.lookup", True),
        ("Chunk*.look?p", "ChunkIndex.inner.lookup", False),
        ("a.b", "a+b", False),
        ("a+b", "a+b", True),
    ],
)
def test_pattern_matches_dotted_names_as_glob(glob, name, expected):
    assert bool(pattern(glob).match(name)) is expected


@pytest.mark.parametrize(
    ("glob", "module", "expected"),
    [
        ("app.**", "app", True),
        ("app.**", "app.model.user", True),
        ("app.**", "application", False),
        ("app.**", "my.app", False),
        ("*.app.**", "my.app", True),
        ("app.*.**", "app", False),
        ("app.*.**", "app.model", True),
        ("app.*", "app", False),
        ("**", "app", True),
    ],
)
def test_pattern_for_all_below_a_module_matches_the_module_itself(glob, module, expected):
    assert matches(Target(glob, "**"), module, "f", "/app.py") is expected
    assert rule_matches(Rule(Target("**", "**"), excepts=(Target(glob, "**"),)), module, "f", "/app.py") is not expected


def test_plain_qualname_leaves_out_locals():
    assert plain_qualname("outer.<locals>.inner.<locals>.f") == "outer.inner.f"
    assert matches(Target("m", "outer.inner"), "m", "outer.<locals>.inner", "/m.py")


def test_rule_with_except_does_not_match_excepted_function():
    rule = Rule(Target("app.**", "**"), excepts=(Target("**", "**.__repr__"),))
    assert rule_matches(rule, "app.model", "User.name", "/app/model.py")
    assert not rule_matches(rule, "app.model", "User.__repr__", "/app/model.py")


def test_is_project_file_excludes_installed_files_below_root(tmp_path: Path):
    for name in ("app.py", "src/lib.py", ".venv/lib/x.py", "env7/lib/y.py", "vendor/site-packages/z.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "env7/pyvenv.cfg").touch()
    inside = {
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py") if is_project_file(str(path), str(tmp_path))
    }
    assert inside == {"app.py", "src/lib.py"}


def test_is_project_file_excludes_standard_library():
    import json

    assert not is_project_file(json.__file__, "/")
    assert not is_project_file(json.__file__, sys.base_prefix)
