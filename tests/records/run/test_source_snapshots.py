"""Saved texts of a run's source files: the texts that ran are certain, all others are marked uncertain."""

import hashlib
import os
import stat
import subprocess
import sys
import time

import pytest

from clew.records.format.event import SiteInfo
from clew.records.plan.plan import Plan, dump
from clew.records.read.process_records import Header, ProcessRecords
from clew.records.run import source_snapshots
from clew.records.run.directory import create_run, remove_run, save_run

TEXT = "import x\n\n\ndef serve():\n    return 1\n"
NOW = time.time_ns()
LATER = NOW + 3600 * 10**9


@pytest.fixture
def run(tmp_path):
    return create_run(tmp_path, name="r", command=["python"], spec="", plan=dump(Plan()))[0]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "app.py"
    path.write_text(TEXT)
    return path


def process(path, *, state=(0, 0), began=LATER, line=4, kind="function", qualname="serve"):
    found = ProcessRecords("p.clew")
    found.header = Header(start_wall_ns=began)
    found.sites[1] = SiteInfo(1, "app", qualname, str(path), line, line + 1, kind, 0, *state)
    return found


def state_of(path):
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def saved(run, path):
    """Return the saved text, whether it is certain, and why not."""
    source = source_snapshots.index(run).get(str(path))
    return source and (source_snapshots.text(run, source), source.certain, source.why)


def test_source_snapshot_of_file_unchanged_since_loading_is_certain(run, file):
    source_snapshots.keep(run, [process(file, state=state_of(file), began=NOW - 10**12)])
    assert saved(run, file) == (TEXT, True, "")


def test_source_snapshot_of_file_older_than_the_process_is_certain(run, file):
    source_snapshots.keep(run, [process(file)])
    assert saved(run, file) == (TEXT, True, "")


def test_source_snapshot_with_old_mtime_but_new_ctime_is_uncertain(run, file):
    os.utime(file, (1, 1))  # as cp -p and rsync do; its ctime is now
    source_snapshots.keep(run, [process(file, began=NOW - 10**12)])
    assert saved(run, file) == (TEXT, False, "it was changed during the run")


def test_source_snapshot_of_file_changed_after_loading_is_uncertain(run, file):
    before = state_of(file)
    file.write_text(TEXT + "\nmore = 1\n")
    source_snapshots.keep(run, [process(file, state=before)])
    assert saved(run, file) == (TEXT + "\nmore = 1\n", False, "it was changed after it had been loaded")


@pytest.mark.parametrize("text", [TEXT.replace("serve", "other"), "\n" + TEXT, ""])
def test_source_snapshot_of_text_without_the_functions_is_not_saved(run, file, text):
    before = state_of(file)
    file.write_text(text)
    source_snapshots.keep(run, [process(file, state=before)])
    assert saved(run, file) is None
    assert source_snapshots.index(run) == {}


def test_source_snapshot_of_decorated_function_is_saved(run, file):
    file.write_text("import x\n\n\n@x.cached\ndef serve():\n    return 1\n")
    source_snapshots.keep(run, [process(file, began=NOW - 10**12)])
    assert saved(run, file)[1] is False


def test_source_snapshot_of_file_loaded_in_two_versions_is_uncertain(run, file):
    now = state_of(file)
    other = now[0] - 1, now[1]
    source_snapshots.keep(run, [process(file, state=now), process(file, state=other)])
    assert saved(run, file) == (TEXT, False, "processes of the run loaded different versions of it")


def test_source_snapshot_from_clean_commit_is_certain(tmp_path, run, file):
    def git(*words):
        done = subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t", *words],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    git("init", "-q")
    git("add", "app.py")
    git("commit", "-qm", "first")
    info = source_snapshots.load_run(run)
    before = state_of(file)
    file.write_text(TEXT.replace("1", "2"))
    for commit, dirty, expected in (
        (git("rev-parse", "HEAD"), False, (TEXT, True, "")),
        (git("rev-parse", "HEAD"), True, (TEXT.replace("1", "2"), False, "it was changed after it had been loaded")),
    ):
        (run / source_snapshots.INDEX_FILE).unlink(missing_ok=True)
        save_run(run, info._replace(commit=commit, dirty=dirty))
        source_snapshots.keep(run, [process(file, state=before)])
        assert saved(run, file) == expected
    # The loaded text was not the commit's, although git says so.
    (run / source_snapshots.INDEX_FILE).unlink()
    save_run(run, info._replace(commit=commit))
    source_snapshots.keep(run, [process(file, state=(before[0], before[1] + 1))])
    assert saved(run, file)[1] is False


def test_source_snapshot_that_is_certain_is_never_replaced(run, file):
    records = [process(file, state=state_of(file))]
    source_snapshots.keep(run, records)
    file.write_text("something else\n")
    source_snapshots.keep(run, records)
    file.unlink()
    source_snapshots.keep(run, records)
    assert saved(run, file) == (TEXT, True, "")


def test_source_snapshot_of_code_without_a_program_file_is_not_saved(run, file):
    for kind, path in (("adapter", file), ("builtin", ""), ("function", "<string>"), ("function", "relative.py")):
        source_snapshots.keep(run, [process(path, kind=kind)])
    assert source_snapshots.index(run) == {}


def test_source_snapshot_texts_are_private_and_shared_by_runs(tmp_path, run, file):
    source_snapshots.keep(run, [process(file)])
    other, _ = create_run(tmp_path, name="other", command=["python"], spec="", plan=dump(Plan()))
    source_snapshots.keep(other, [process(file)])
    texts = list((tmp_path / ".clew/sources").glob("??/*.z"))
    assert [path.parent.name + path.stem for path in texts] == [hashlib.sha256(TEXT.encode()).hexdigest()]
    for path in (*texts, run / source_snapshots.INDEX_FILE):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_prune_removes_old_text_only_without_references(tmp_path, run, file):
    source_snapshots.keep(run, [process(file)])
    (text,) = (tmp_path / ".clew/sources").glob("??/*.z")
    old = time.time() - 2 * source_snapshots.PRUNED_EVERY
    os.utime(text, (old, old))
    source_snapshots.prune(tmp_path)
    assert text.exists()
    remove_run(run)
    os.utime(text)
    source_snapshots.prune(tmp_path)
    assert text.exists()  # a run that is ending may refer to it soon
    os.utime(text, (old, old))
    source_snapshots.prune(tmp_path)
    assert not text.exists()


def test_prune_removes_oldest_texts_beyond_the_limit(tmp_path, run, monkeypatch):
    paths = []
    for number in range(4):
        path = tmp_path / f"{number}.py"
        path.write_text(f"def serve():\n    return {number}\n")
        paths.append(path)
    source_snapshots.keep(run, [process(path, line=1) for path in paths])
    for number, path in enumerate(paths):
        digest = source_snapshots.index(run)[str(path)].digest
        text = tmp_path / ".clew/sources" / digest[:2] / f"{digest[2:]}.z"
        os.utime(text, (number, number))
        size = text.stat().st_size
    monkeypatch.setattr(source_snapshots, "MOST", 2 * size + 1)
    source_snapshots.prune(tmp_path)
    assert [saved(run, path)[0] is not None for path in paths] == [False, False, True, True]


@pytest.mark.parametrize(
    "index", ["", "[]", "{", '{"format": 2, "files": {}}', '{"format": 1, "files": {"a": {}}}',
              '{"format": 1, "files": {"a": {"digest": "../../x", "certain": true, "why": ""}}}',
              '{"format": 1, "files": 7}'],
)  # fmt: skip
def test_source_snapshot_damaged_index_is_empty_and_rebuilt(run, file, index):
    (run / source_snapshots.INDEX_FILE).write_text(index)
    assert source_snapshots.index(run) == {}
    source_snapshots.keep(run, [process(file)])
    assert saved(run, file) == (TEXT, True, "")


def test_source_snapshot_damaged_text_is_missing(tmp_path, run, file):
    source_snapshots.keep(run, [process(file)])
    (text,) = (tmp_path / ".clew/sources").glob("??/*.z")
    whole = text.read_bytes()
    for damaged in (b"", whole[:-1], whole[:9] + bytes([whole[9] ^ 1]) + whole[10:]):
        text.write_bytes(damaged)
        assert saved(run, file)[0] is None


def test_source_snapshot_on_full_disk_saves_nothing_silently(run, file, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(source_snapshots, "write_private", full)
    source_snapshots.keep(run, [process(file)])
    assert source_snapshots.index(run) == {}
    source_snapshots.keep(run / "not there", [process(file)])


def test_run_saves_source_texts_as_loaded(tmp_path):
    """`helper` changes its file after it was loaded, `app` does not change: only `app` is certain."""
    (tmp_path / "app.py").write_text("import helper\n\n\ndef main():\n    helper.run()\n\n\nmain()\n")
    (tmp_path / "helper.py").write_text(
        "def run():\n    with open(__file__, 'a') as file:\n        file.write('# changed\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "clew", "run", "--workspace", ".", "-q", "--", sys.executable, "app.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / ".clew/runs").iterdir()
    found = {os.path.basename(path): source for path, source in source_snapshots.index(run).items()}
    assert {name: source.certain for name, source in found.items()} == {"app.py": True, "helper.py": False}
    assert source_snapshots.text(run, found["app.py"]) == (tmp_path / "app.py").read_text()
    assert found["helper.py"].why == "it was changed after it had been loaded"
