"""The index of a workspace is cached: only changed files are read again, by one process or several."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.esl import SourceIndex
from clew.esl.index import parallel_read
from clew.esl.index.declarations import ClassInfo


def many(folder: Path, number: int = 120) -> dict[str, str]:
    """Write a package that is large enough to be cached, and return the text of each file."""
    texts = {"big/__init__.py": "from .m1 import f1 as first\n"}
    texts |= {
        f"big/m{n}.py": f"class C{n}:\n    def f{n}(self, a: int): pass\ndef f{n}(): yield\n" for n in range(number)
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return texts


def classes_of(index: SourceIndex) -> list[ClassInfo]:
    return [each for file in index.files for each in index.classes(file)]


def labels(index: SourceIndex) -> set[str]:
    return {function.label for function in index.all_functions()}


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return a function that lists the files whose source is read from now on."""
    read: list[str] = []
    real = parallel_read.read_file

    def noted(path: str, module: str) -> parallel_read.Read:
        read.append(Path(path).name)
        return real(path, module)

    monkeypatch.setattr(parallel_read, "read_file", noted)
    return lambda: read


def test_index_after_restart_has_the_cached_contents(tmp_path: Path, no_reading: Callable[[], list[str]]) -> None:
    many(tmp_path)
    first = SourceIndex(tmp_path)
    known = list(first.all_functions()), classes_of(first)
    assert len(no_reading()) == 121
    no_reading().clear()
    again = SourceIndex(tmp_path)
    assert (list(again.all_functions()), classes_of(again)) == known
    assert no_reading() == []
    (kept,) = (tmp_path / ".clew").glob("*.index")
    assert kept.stat().st_mode & 0o777 == 0o600 and kept.parent.stat().st_mode & 0o777 == 0o700


def test_index_after_restart_reads_changed_files_only(tmp_path: Path, no_reading: Callable[[], list[str]]) -> None:
    texts = many(tmp_path)
    before = labels(SourceIndex(tmp_path))
    no_reading().clear()
    (tmp_path / "big/m3.py").write_text("def changed(): pass")
    (tmp_path / "big/m4.py").unlink()
    (tmp_path / "big/m5.py").write_text(texts["big/m5.py"])  # another modification time, the same text
    os.utime(tmp_path / "big/m5.py", ns=(1, 1))
    after = labels(SourceIndex(tmp_path))
    assert after == (before - {"big.m3:C3.f3", "big.m3:f3", "big.m4:C4.f4", "big.m4:f4"}) | {"big.m3:changed"}
    assert no_reading() == ["m3.py"]
    no_reading().clear()
    assert labels(SourceIndex(tmp_path)) == after and no_reading() == []


@pytest.mark.parametrize("damage", ["bytes", "rows", "version", "empty", "other"])
def test_index_with_damaged_cache_is_rebuilt(damage: str, tmp_path: Path) -> None:
    many(tmp_path)
    before = labels(SourceIndex(tmp_path))
    (kept,) = (tmp_path / ".clew").glob("*.index")
    if damage == "bytes":
        content = bytearray(kept.read_bytes())
        content[4096:] = bytes(len(content) - 4096)
        kept.write_bytes(content)
    elif damage == "empty":
        kept.write_bytes(b"")
    elif damage == "other":
        kept.write_bytes(b"not a database" * 1000)
    else:
        database = sqlite3.connect(kept)
        if damage == "version":
            database.execute("PRAGMA user_version = 999")
        else:
            database.execute("UPDATE files SET contents = X'5B5B225D'")
        database.commit()
        database.close()
    assert labels(SourceIndex(tmp_path)) == before
    assert labels(SourceIndex(tmp_path)) == before


def test_index_without_a_writable_cache_works(tmp_path: Path) -> None:
    many(tmp_path)
    (tmp_path / ".clew").write_text("a file where the folder would be")
    assert len(labels(SourceIndex(tmp_path))) == 240


def test_index_of_small_workspace_writes_no_cache(workspace: Callable[..., Path]) -> None:
    folder = workspace({"a.py": "def f(): pass"})
    assert labels(SourceIndex(folder)) == {"a:f"}
    assert not (folder / ".clew").exists()


def test_index_read_by_several_processes_equals_that_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many(tmp_path, 250)
    (tmp_path / "big/broken.py").write_text("def f(:")
    index = SourceIndex(tmp_path)
    beside = list(index.all_functions()), index.notes
    monkeypatch.setattr(parallel_read, "MANY", 1 << 30)
    (kept,) = (tmp_path / ".clew").glob("*.index")
    kept.unlink()
    index = SourceIndex(tmp_path)
    assert (list(index.all_functions()), index.notes) == beside
    assert len(index.notes) == 1


def test_index_reads_files_itself_when_workers_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many(tmp_path, 250)
    monkeypatch.setattr(parallel_read.sys, "executable", "/bin/false")
    assert len(labels(SourceIndex(tmp_path))) == 500
