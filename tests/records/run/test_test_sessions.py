"""Test sessions: the sessions that a revision's name refers to, and the sessions that are retained."""

from __future__ import annotations

import subprocess

import pytest

from clew.records.plan.plan import Plan, dump
from clew.records.run import git_revision
from clew.records.run.directory import create_run, list_runs, save_run
from clew.records.run.git_revision import RevisionError
from clew.records.run.test_sessions import find_sessions, keep_sessions


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def project(tmp_path):
    """Make a repository with three commits; the first is tagged."""
    git(tmp_path, "init", "-q", "-b", "main", ".")
    (tmp_path / ".gitignore").write_text(".clew\n")
    for number in range(3):
        (tmp_path / "app.py").write_text(f"n = {number}\n")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", f"number {number}")
        if not number:
            git(tmp_path, "tag", "v1")
    return tmp_path


def session(workspace, name, commit="", *, dirty=False, exit_code=0, tests=True, finished=1):
    folder, info = create_run(workspace, name=name, command=["pytest"], spec="", plan=dump(Plan()))
    info = info._replace(
        tests=tests, commit=commit, dirty=dirty, exit_code=exit_code, finished=finished, started=info.started
    )
    save_run(folder, info)
    return info.id


def commits(project):
    return [git(project, "rev-parse", f"HEAD~{back}") for back in (2, 1, 0)]


def ids(chosen):
    return {info.id for _, info in chosen.runs}


def test_git_revision_current_is_head_and_whether_files_changed(project, tmp_path_factory):
    head = git(project, "rev-parse", "HEAD")
    assert git_revision.current(project) == (head, False)
    (project / "unknown.txt").write_text("git does not know it")
    assert git_revision.current(project) == (head, False)
    (project / "app.py").write_text("n = 4\n")
    assert git_revision.current(project) == (head, True)
    assert git_revision.current(tmp_path_factory.mktemp("bare")) is None


def test_find_sessions_by_revision_returns_its_clean_sessions(project):
    first, _, head = commits(project)
    clean = {session(project, "a", head), session(project, "b", head)}
    session(project, "c", head, dirty=True)
    old = session(project, "d", first)
    for name in ("HEAD", "main", head, head[:10]):
        found = find_sessions(project, name)
        assert ids(found) == clean and not found.distance, name
    assert ids(find_sessions(project, "v1")) == {old}
    assert find_sessions(project, "v1").title == f"v1 ({first[:9]})"
    assert ids(find_sessions(project, "HEAD", without=[next(iter(clean))])) < clean


def test_find_sessions_of_commit_without_sessions_uses_nearest_ancestor(project):
    first, _, _ = commits(project)
    session(project, "a", first)
    found = find_sessions(project, "HEAD")
    assert found.distance == 2 and "2 commits earlier" in found.title


def test_find_sessions_by_id_or_empty_name_returns_one_session(project):
    first, _, head = commits(project)
    session(project, "a", first)
    changed = session(project, "b", head, dirty=True)
    assert ids(find_sessions(project, changed)) == {changed}
    newest = [info.id for _, info in list_runs(project)][:1]
    assert ids(find_sessions(project, "")) == set(newest)


def test_find_sessions_ignores_incomplete_sessions(project):
    _, _, head = commits(project)
    session(project, "interrupted", head, exit_code=2)
    session(project, "running", head, exit_code=None, finished=None)
    session(project, "program", head, tests=False)
    failed = session(project, "failed", head, exit_code=1)
    assert ids(find_sessions(project, "HEAD")) == {failed}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nope", "git cannot find the revision 'nope'"),
        ("--all", "git cannot find the revision '--all'"),
        ("v1", "no test session of v1"),
    ],
)
def test_find_sessions_of_name_without_sessions_is_refused(project, name, text):
    _, second, _ = commits(project)
    session(project, "a", second)
    with pytest.raises(RevisionError, match=text) as caught:
        find_sessions(project, name)
    if name == "v1":
        assert second[:9] in str(caught.value), "the error names a commit with sessions"


def test_find_sessions_outside_a_repository_finds_by_id(tmp_path):
    one = session(tmp_path, "a")
    assert ids(find_sessions(tmp_path, one)) == {one}
    with pytest.raises(RevisionError, match="not a git repository"):
        find_sessions(tmp_path, "HEAD")


def test_keep_sessions_retains_newest_clean_and_dirty_ones(project):
    _, _, head = commits(project)
    program = session(project, "program", tests=False)
    clean = [session(project, f"clean{number}", head) for number in range(4)]
    dirty = [session(project, f"dirty{number}", head, dirty=True) for number in range(3)]
    before = {info.id for _, info in list_runs(project)}
    assert before == {program, *clean, *dirty}
    removed = keep_sessions(project, 2)
    kept = [info.id for _, info in list_runs(project)]
    assert set(kept) == before - set(removed) and program in kept
    assert sum(name in clean for name in kept) == sum(name in dirty for name in kept) == 2


def test_keep_sessions_retains_live_session(project):
    going_on = session(project, "a", finished=None, exit_code=None)
    session(project, "b")
    assert keep_sessions(project, 1) == []
    assert going_on in {info.id for _, info in list_runs(project)}
