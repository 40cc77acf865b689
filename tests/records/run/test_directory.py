"""A run's folder is private and found by path, id or name; a wrong one has a clear error."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from clew.records.errors import RunError
from clew.records.run import directory as run_module
from clew.records.run.directory import RUN_FORMAT, create_run, find_run, finish_run, list_runs, load_run, workspace_of


def make(workspace: Path, name: str = "job"):
    return create_run(workspace, name=name, command=["python", "app.py"], spec="", plan="{}")


def test_run_folder_is_private_and_ignored_by_git(tmp_path):
    folder, _ = make(tmp_path)
    for path in (tmp_path / ".clew", tmp_path / ".clew/runs", folder):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (folder / "run.json", folder / "plan.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / ".clew/.gitignore").read_text() == "*\n"


def test_find_run_by_id_path_or_newest_of_a_name(tmp_path):
    first, _ = make(tmp_path)
    second, info = make(tmp_path)
    other, _ = make(tmp_path, "other")
    assert find_run(tmp_path, "job") == second
    assert find_run(tmp_path, info.id) == second
    assert find_run(tmp_path, str(first)) == first
    assert find_run(tmp_path) == other


def test_finish_run_stores_exit_code_and_notes(tmp_path):
    folder, info = make(tmp_path)
    finish_run(folder, info, 3, ["recording stopped"])
    loaded = load_run(folder)
    assert (loaded.exit_code, loaded.notes) == (3, ["recording stopped"])
    assert loaded.finished is not None and loaded.finished >= loaded.started


def test_create_run_with_odd_name_makes_a_plain_folder(tmp_path):
    folder, info = make(tmp_path, "../my job/§1")
    assert folder.parent == tmp_path / ".clew/runs"
    assert info.name == "../my job/§1"


def test_load_run_missing_incomplete_or_newer_has_separate_errors(tmp_path):
    folder, _ = make(tmp_path)
    with pytest.raises(RunError, match="the folder does not exist"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"has no run\.json"):
        load_run(tmp_path)
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text[: len(text) // 2])
    with pytest.raises(RunError, match="incomplete or damaged"):
        load_run(folder)
    (folder / "run.json").write_text(json.dumps(json.loads(text) | {"format": RUN_FORMAT + 1}))
    with pytest.raises(RunError, match="upgrade clew"):
        load_run(folder)
    (folder / "run.json").write_text("[]")
    with pytest.raises(RunError, match="not the description of a run"):
        load_run(folder)


def test_list_runs_with_damaged_run_lists_the_others(tmp_path):
    good, _ = make(tmp_path)
    bad, _ = make(tmp_path)
    (bad / "run.json").write_text("{")
    listed = dict(list_runs(tmp_path))
    assert isinstance(listed[bad], RunError)
    assert find_run(tmp_path) == good


def test_find_run_without_match_suggests_what_to_do(tmp_path):
    with pytest.raises(RunError, match="clew run"):
        find_run(tmp_path)
    make(tmp_path, "before")
    with pytest.raises(RunError, match="known: before"):
        find_run(tmp_path, "after")


def test_create_run_in_unwritable_folder_raises_run_error(tmp_path):
    # Not even root can make folders there.
    target = Path("/proc/self") if os.geteuid() == 0 else tmp_path
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match="cannot create a run there"):
        make(target)


def test_workspace_of_is_nearest_folder_with_runs_or_project_root(tmp_path):
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "src/pkg"
    inner.mkdir(parents=True)
    assert workspace_of(inner) == tmp_path
    make(tmp_path / "src")
    assert workspace_of(inner) == tmp_path / "src"


BAD = [
    ("id", 5), ("name", None), ("command", "python"), ("command", ["python", 3]), ("cwd", []), ("workspace", 1.5),
    ("spec", None), ("started", "yesterday"), ("started", True), ("started", 1 << 70), ("finished", "now"),
    ("finished", 1.5), ("exit_code", "0"), ("host", 3), ("notes", "note"), ("notes", [None]), ("name", "\ud800"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), BAD)
def test_load_run_field_of_wrong_type_is_named(tmp_path, field, value):
    good, _ = make(tmp_path)
    bad, _ = make(tmp_path)
    text = json.loads((bad / "run.json").read_text())
    (bad / "run.json").write_text(json.dumps(text | {field: value}))
    with pytest.raises(RunError, match=f"its field '{field}' is not"):
        load_run(bad)
    assert isinstance(dict(list_runs(tmp_path))[bad], RunError)
    assert find_run(tmp_path) == good


@pytest.mark.parametrize("field", ["id", "name", "command", "cwd", "workspace", "spec", "started"])
def test_load_run_missing_field_is_named(tmp_path, field):
    folder, _ = make(tmp_path)
    data = json.loads((folder / "run.json").read_text())
    del data[field]
    (folder / "run.json").write_text(json.dumps(data))
    with pytest.raises(RunError, match=f"the field '{field}' is missing"):
        load_run(folder)


def test_load_run_of_arbitrary_bytes_raises_run_error(tmp_path):
    folder, _ = make(tmp_path)
    for content in (
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": true}',
        b'{"format": 1e9}',
        b'{"format": ' + b"9" * 5000 + b"}",
    ):
        (folder / "run.json").write_bytes(content)
        with pytest.raises(RunError):
            load_run(folder)


def test_create_run_with_undecodable_command_replaces_characters(tmp_path):
    folder, _ = create_run(tmp_path, name="n", command=["python", "\udcff.py"], spec="", plan="{}")
    assert load_run(folder).command == ["python", "?.py"]


def test_load_run_ignores_unknown_field(tmp_path):
    folder, info = make(tmp_path)
    data = json.loads((folder / "run.json").read_text()) | {"calibration": [[1, 2]]}
    (folder / "run.json").write_text(json.dumps(data))
    assert load_run(folder) == info


def test_create_run_on_full_disk_leaves_no_folder(tmp_path, monkeypatch):
    write = run_module.write_private

    def full(path, text):
        write(path, text[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(run_module, "write_private", full)
    with pytest.raises(RunError, match="No space left on device"):
        make(tmp_path)
    assert list((tmp_path / ".clew/runs").iterdir()) == []
