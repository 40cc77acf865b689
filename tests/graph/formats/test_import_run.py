"""Import foreign files as runs; a file that cannot be imported is refused in one line."""

import pytest

from clew.graph.formats import import_run
from clew.records.errors import RunError
from clew.records.run.directory import create_run, load_run


@pytest.fixture
def too_deep(tmp_path, monkeypatch):
    """Return a file that makes every reader recurse without end."""

    def read(*given):
        return read(*given)

    monkeypatch.setattr(import_run, "read_files", read)
    file = tmp_path / "deep.json"
    file.write_text("{}")
    return file


def test_import_of_too_deeply_nested_file_names_it_and_makes_no_run(tmp_path, too_deep):
    with pytest.raises(RunError, match=r"deep\.json: nested too deeply to be read"):
        import_run.import_run(tmp_path, [too_deep])
    assert list((tmp_path / ".clew" / "runs").iterdir()) == []


def test_import_of_too_deeply_nested_data_ends_the_run_with_a_note(tmp_path, too_deep):
    folder, _ = create_run(tmp_path, name="came", command=[], spec="", plan="")
    import_run.finish_import(folder, too_deep)
    over = load_run(folder)
    assert over.finished is not None
    assert over.notes == [
        f"the received data cannot be imported: {too_deep}: nested too deeply to be read; write or download it again"
    ]
