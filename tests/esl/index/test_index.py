"""The files of a workspace: which belong to it, the names of their modules, and changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.esl import SourceIndex
from clew.esl.index.declarations import FunctionInfo
from clew.esl.index.files import module_names, project_files


def index_of(folder: Path) -> dict[str, tuple[FunctionInfo, ...]]:
    index = SourceIndex(folder)
    return {file.path: index.functions(file) for file in index.files}


def labels(index: SourceIndex) -> set[str]:
    return {function.label for function in index.all_functions()}


def test_module_names_start_at_the_top_package(workspace: Callable[..., Path]) -> None:
    folder = workspace(
        {
            "script.py": "",
            "tools/run-it.py": "",
            "src/pkg/__init__.py": "",
            "src/pkg/__main__.py": "",
            "src/pkg/sub/__init__.py": "",
            "src/pkg/sub/mod.py": "",
            "src/pkg/data/loose.py": "",
        }
    )
    names = {Path(f.path).relative_to(folder).as_posix(): f.names for f in SourceIndex(folder).files}
    assert names == {
        "script.py": ("script",),
        "tools/run-it.py": ("run-it", "tools.run-it"),
        "src/pkg/__init__.py": ("pkg", "src.pkg"),
        "src/pkg/__main__.py": ("pkg.__main__", "src.pkg.__main__"),
        "src/pkg/sub/__init__.py": ("pkg.sub", "src.pkg.sub"),
        "src/pkg/sub/mod.py": ("pkg.sub.mod", "src.pkg.sub.mod"),
        "src/pkg/data/loose.py": ("loose", "data.loose", "pkg.data.loose", "src.pkg.data.loose"),
    }


def test_module_names_of_example_equal_those_of_its_processes(root: Path) -> None:
    path = root / "examples/chunkstore/chunkstore/store.py"
    assert module_names(path, root)[0] == "chunkstore.store"


def test_module_names_include_the_imported_name(
    workspace: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    folder = workspace(
        {
            "esl_top_pkg/__init__.py": "def a(): pass",
            "esl_top_pkg/inner/__init__.py": "",
            "esl_top_pkg/inner/leaf.py": "class C:\n def m(self):\n  return lambda: 1",
            "esl_top_script.py": "def f(): pass",
            "esl_space/part.py": "def g(): pass",
        }
    )
    monkeypatch.syspath_prepend(str(folder))
    for file in SourceIndex(folder).files:
        imported = {name for name in file.names if importlib.util.find_spec(name.partition(".")[0]) is not None}
        module = importlib.import_module(max(imported, key=len))
        assert module.__file__ == file.path
        assert module.__name__ in file.names


def test_index_reads_only_files_of_the_project(workspace: Callable[..., Path]) -> None:
    folder = workspace(
        {
            "app.py": "def a(): pass",
            ".hidden/x.py": "",
            "node_modules/x.py": "",
            ".venv/lib/x.py": "",
            "myenv/pyvenv.cfg": "",
            "myenv/lib/x.py": "",
            "lib/site-packages/x.py": "",
            "app.txt": "",
        }
    )
    found, left_out = project_files(folder, ".py")
    assert ([path.name for path in found], left_out) == (["app.py"], "")


@pytest.mark.parametrize(("limit", "number"), [("MAX_FILES", 3), ("MAX_FOLDERS", 2)])
def test_index_of_very_large_folder_reads_a_part_and_says_so(
    limit: str, number: int, workspace: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace({f"p{n}/a.py": "def f(): pass" for n in range(5)})
    monkeypatch.setattr(f"clew.esl.index.files.{limit}", number)
    index = SourceIndex(folder)
    assert 0 < len(index.files) <= number
    assert len(index.notes) == 1 and "choose a smaller workspace" in index.notes[0]


def test_index_runs_no_code_of_the_workspace(workspace: Callable[..., Path]) -> None:
    folder = workspace({"boom.py": "raise SystemExit(1)\ndef f(): pass", "sitecustomize.py": "1/0"})
    index = SourceIndex(folder)
    assert [function.name for function in index.all_functions()] == ["f"]
    assert "boom" not in sys.modules


def test_index_unreadable_source_is_a_note(workspace: Callable[..., Path]) -> None:
    folder = workspace({"good.py": "def f(): pass", "bad.py": "def f(:", "null.py": "x = '\0'"})
    (folder / "latin.py").write_bytes(b"x = '\xe9'")
    (folder / "cookie.py").write_bytes(b"# -*- coding: latin-1 -*-\ndef caf\xe9(): pass")
    (folder / "deep.py").write_text("x = " + "(" * 5000 + ")" * 5000)
    (folder / "long.py").write_text("x = " + " + ".join(["1"] * 3000) + "\ndef g(): pass")
    (folder / "gone.py").symlink_to(folder / "nowhere.py")
    index = SourceIndex(folder)
    names = [function.name for function in index.all_functions()]
    assert {"f", "café"} <= set(names)
    assert {Path(note.partition(":")[0]).name for note in index.notes} >= {"bad.py", "null.py", "latin.py", "deep.py"}
    assert all("its functions are unknown" in note for note in index.notes)
    notes = index.notes
    index.refresh()
    assert index.notes == notes
    (folder / "bad.py").write_text("def fine(): pass")
    index.refresh()
    assert "fine" in [function.name for function in index.all_functions()]
    assert len(index.notes) == len(notes) - 1


def test_index_refresh_reads_changed_files_only(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "def old(): pass", "b.py": "def same(): pass"})
    index = SourceIndex(folder)
    before = {function.name: function for function in index.all_functions()}
    (folder / "a.py").write_text("def new_name(): pass")
    (folder / "c.py").write_text("def third(): pass")
    index.refresh()
    after = {function.name: function for function in index.all_functions()}
    assert set(before) == {"old", "same"} and set(after) == {"new_name", "same", "third"}
    assert after["same"] is before["same"]


def test_index_finds_channels_of_clew_annotations(workspace: Callable[..., Path]) -> None:
    folder = workspace(
        {
            "a.py": "import clew\nclew.send('jobs', job.id)\nwith clew.use('done', 1): pass\nclew.send(job)",
            "b.py": "def g(sock): sock.send('not this')",
        }
    )
    assert SourceIndex(folder).annotated_channels() == {"jobs", "done"}


def test_index_overlay_replaces_the_file_until_removed(workspace: Callable[..., Path]) -> None:
    folder = workspace({"app/__init__.py": "", "app/a.py": "def old(): pass", "app/b.py": "def b(): pass"})
    index = SourceIndex(folder)
    assert labels(index) == {"app.a:old", "app.b:b"}
    index.overlay(folder / "app/a.py", "def new(): pass")
    index.overlay(folder / "app/unsaved.py", "def third(): pass")
    index.overlay(folder / "notes.txt", "def no(): pass")
    assert labels(index) == {"app.a:new", "app.b:b", "app.unsaved:third"}
    index.refresh()
    assert labels(index) == {"app.a:new", "app.b:b", "app.unsaved:third"}
    index.overlay(folder / "app/a.py", "def newer(): pass")
    assert "app.a:newer" in labels(index)
    index.overlay(folder / "app/a.py", None)
    index.overlay(folder / "app/unsaved.py", None)
    assert labels(index) == {"app.a:old", "app.b:b"}
