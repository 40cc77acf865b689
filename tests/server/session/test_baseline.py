"""How a baseline is named and saved, and how a removed baseline is reported."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, load_run, save_run
from clew.server.session import baseline
from clew.server.session.session import Session


def git(folder, *words):
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t", *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def record(workspace, name, **more):
    folder, info = create_run(workspace, name=name, command=["app"], spec="", plan=dump(Plan()), cwd=workspace)
    save_run(folder, info._replace(finished=info.started + 1, exit_code=0, **more))
    return folder


@pytest.fixture
def workspace(tmp_path):
    record(tmp_path, "first")
    record(tmp_path, "second")
    return tmp_path


def test_baseline_is_empty_until_one_is_chosen(workspace):
    assert Session(workspace).baseline() is None
    assert (Session(workspace).runs().baseline, Session(workspace).runs().baselineName) == ("", "")


def test_baseline_choice_is_saved_and_overrides_the_setting(workspace):
    session = Session(workspace)
    session.default_baseline = "second"
    assert session.baseline().name == "second"
    session.choose_baseline("first")
    assert session.baseline().name == "first"
    assert Session(workspace).runs().baseline == session.baseline().runs[0]
    session.choose_baseline("")
    assert session.baseline().name == "second"
    session.choose_baseline("")  # without a choice this is no error


def test_baseline_removed_run_raises_once_and_is_forgotten(workspace):
    session = Session(workspace)
    session.choose_baseline("first")
    shutil.rmtree(session.folder("first"))
    with pytest.raises(ClewError, match="no run named"):
        session.baseline()
    assert session.baseline() is None


def test_baseline_unknown_run_is_not_saved(workspace):
    session = Session(workspace)
    with pytest.raises(ClewError, match="no run named 'gone'"):
        session.choose_baseline("gone")
    assert baseline.remembered(workspace) == ""


def test_baseline_unreadable_file_is_ignored(workspace):
    (workspace / ".clew" / baseline.FILE).write_bytes(b"\xff\xfe")
    assert Session(workspace).baseline() is None


def test_baseline_of_another_workspace_is_saved_by_its_folder(workspace, tmp_path_factory):
    other = record(tmp_path_factory.mktemp("other"), "theirs")
    session = Session(workspace)
    session.choose_baseline(str(other))
    assert session.baseline() == baseline.Baseline("theirs", (str(other),), str(other))


def test_baseline_revision_means_its_newest_test_sessions(workspace):
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "commit", "-q", "--allow-empty", "-m", "one")
    commit = git(workspace, "rev-parse", "HEAD")
    sessions = [record(workspace, "pytest", tests=True, commit=commit).name for _ in range(5)]
    changed = record(workspace, "pytest", tests=True, commit=commit, dirty=True).name
    found = baseline.find(workspace, "main")
    assert found == baseline.Baseline("main", tuple(reversed(sessions))[: baseline.MOST], "main")
    assert changed not in found.runs
    # A session is not compared with itself.
    assert sessions[-1] not in baseline.find(workspace, commit[:8], without=sessions[-1]).runs
    assert baseline.find(workspace, "first").name == "first"
    with pytest.raises(ClewError, match="no run named 'nope'.*as a revision: git cannot find the revision 'nope'"):
        baseline.find(workspace, "nope")
    assert Session(workspace).runs().runs[0].commit == f"{commit[:9]}, changed"
    assert load_run(Session(workspace).folder(changed)).dirty
