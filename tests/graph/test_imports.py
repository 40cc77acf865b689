"""Runs that are made of others' files: what cannot be made is refused in one line."""

import pytest

from clew.graph import imports
from clew.records.errors import RunError
from clew.records.run import create_run, load_run


@pytest.fixture
def too_deep(tmp_path, monkeypatch):
    """A file that any reader loses itself in."""

    def read(*given):
        return read(*given)

    monkeypatch.setattr(imports, "read_files", read)
    file = tmp_path / "deep.json"
    file.write_text("{}")
    return file


def test_what_is_nested_too_deeply_is_named_and_there_is_no_run(tmp_path, too_deep):
    with pytest.raises(RunError, match=r"deep\.json: it is nested too deeply to be read"):
        imports.import_run(tmp_path, [too_deep])
    assert list((tmp_path / ".clew" / "runs").iterdir()) == []


def test_of_what_came_and_is_nested_too_deeply_the_run_is_over_with_a_note(tmp_path, too_deep):
    folder, _ = create_run(tmp_path, name="came", command=[], spec="", plan="")
    imports.finish_import(folder, too_deep)
    over = load_run(folder)
    assert over.finished is not None
    assert over.notes == [
        f"what came cannot be imported: {too_deep}: it is nested too deeply to be read; write or download it again"
    ]
