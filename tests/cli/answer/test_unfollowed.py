"""The answers of the commands about a thread whose tasks are not followed: they refuse, and list nothing as a cause."""

import json

import pytest

from clew.records.format.event import FLAG_OVER, UNFOLLOWED, Kind
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from tests.support.runs.records import RunFolder

TEXT = "gevent runs in this thread; clew does not follow its greenlets"
LIMIT = "gevent runs in MainThread; clew does not follow its greenlets, so the causes there are not known."


@pytest.fixture
def interleaved(shell):
    """A run in which a greenlet's error comes while another greenlet's call is open."""
    run = RunFolder(
        *create_run(shell.folder, name="web", command=["app"], spec="", plan=dump(Plan()), cwd=shell.folder)
    )
    save_run(run.folder, run.info)
    process = run.process("web")
    thread = process.thread()

    def mark(**more):
        thread.put(Kind.GAP, process.site("gevent:run", kind="adapter"), 0, UNFOLLOWED, TEXT, **more)

    mark(at=0)
    thread.enter("first", at=10).enter("second", at=20).log("first failed", 40, at=50)
    thread.exit("second", at=60).exit("first", at=70)
    mark(flags=FLAG_OVER, at=80)
    run.write()


@pytest.mark.usefixtures("interleaved")
def test_path_to_an_event_that_was_not_followed_is_refused(shell):
    said = shell("path", "first failed").stdout
    assert said.splitlines()[1:] == [
        LIMIT,
        "",
        "ERROR first failed",
        "What led to it is not known.",
        "How sure: not known: execution was not followed",
    ]
    data = json.loads(shell("path", "first failed", "--json").stdout)
    assert (data["segments"], data["branches"], data["message"]) == ([], [], LIMIT)


@pytest.mark.usefixtures("interleaved")
def test_why_lists_no_causes_where_execution_was_not_followed(shell):
    said = shell("why", "first failed", "--causes").stdout
    assert LIMIT in said
    assert "No causes are listed, because events of other tasks may be among them." in said
    assert "led to it, in" not in said
    assert "more:" not in shell("why", "first failed").stdout


@pytest.mark.usefixtures("interleaved")
def test_hang_and_why_not_say_that_execution_was_not_followed(shell):
    assert f"not known: {LIMIT}" in shell("hang").stdout
    said = shell("why", "--not", "second done", "--event", "3").stdout
    assert LIMIT in said
    assert "Which steps are its own is not known." in said
