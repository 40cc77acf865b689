"""A worker process answers requests about large runs, equal to answers in process, and leaves no files."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from clew.graph.runtime import worker_process as graph_aside
from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.session import answer_process
from clew.server.session.cancellation import Cancelled, Task
from clew.server.session.session import Session
from tests.support.editor.lsp_wire import Wire
from tests.support.requirements import needs_own_process

pytestmark = needs_own_process

CANCELLED = -32800
QUESTIONS = [
    ("clew/compare", {"before": ["before"], "after": ["after"]}),
    ("clew/compare", {"before": ["before@slowest"], "after": ["after"], "maxRows": 1}),
    ("clew/localize", {"suspect": ["after"], "reference": ["before"]}),
    ("clew/diff", {"before": "before", "after": ""}),
    ("clew/slice", {"target": {"function": "shop.stock:Stock.lookup"}, "run": "before"}),
    ("clew/slice", {"target": {"function": "shop.stock:Stock.lookup"}, "direction": "forward", "maxNodes": 3}),
    ("clew/slice", {"target": {"text": "sold"}}),
    ("clew/slice", {"target": {}, "run": "before", "level": "event"}),
]


@pytest.fixture
def large(shop, monkeypatch):
    """Return a session for which all runs are large."""
    monkeypatch.setattr(answer_process, "LARGE", 1)
    session = Session(shop)
    yield session
    session.helpers.end()


def pid(session):
    return session.helpers._idle.process._process.pid


def folders(session):
    return sorted(path.name for run in (session.workspace / ".clew/runs").iterdir() for path in run.glob(".*"))


def timeless(answer):
    answer.get("numbers", {}).pop("elapsedMs", None)
    return answer


def has_ended(pid):
    try:
        return b"Z" in Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(condition):
    for _ in range(12_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("did not happen")


def test_answer_process_answers_equal_those_in_process(large, shop):
    pids = []
    for method, params in QUESTIONS:
        large.select("before" if method == "clew/diff" else "")
        here = Session(shop)
        here.select("before" if method == "clew/diff" else "")
        here.helpers.take = lambda *_: pytest.fail("not here")
        apart = handlers.answer(large, method, params)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answer_process, "LARGE", 1 << 60)
            assert timeless(handlers.answer(here, method, params)) == timeless(apart)
        pids.append(pid(large))
    assert len(set(pids)) <= 2 and folders(large)  # a question about more events gets a new process
    large.helpers.end()
    wait_for(lambda: has_ended(pids[-1]))
    wait_for(lambda: not folders(large))


def test_answer_process_guide_of_one_run_equals_that_in_process(large, shop):
    run = large.folder("after").name
    here = Session(shop)
    for analysis, answers in (("path", [run, "order", "slowest"]), ("errors", [run])):
        for number in range(len(answers) + 1):
            params = {"analysis": analysis, "answers": answers[:number], "step": 0}
            apart = handlers.answer(large, "clew/wizard", params)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(answer_process, "LARGE", 1 << 60)
                assert handlers.answer(here, "clew/wizard", params) == apart
            assert bool(folders(large)) == (number > 0)
        large.helpers.end()
        wait_for(lambda: not folders(large))


def test_answer_process_guide_of_two_runs_uses_editor_state(large, shop, line_of):
    """The editor's baseline setting is offered first, and its unsaved text differs from the text that ran."""
    after, before = (large.folder(name).name for name in ("after", "before"))
    here, path = Session(shop), shop / "shop/stock.py"
    for session in (here, large):
        session.default_baseline = before
        session.open_texts = lambda: [(str(path), "# new\n" * 9 + path.read_text())]
    answers = [after, before, "0.05"]
    asked = [(number, 0) for number in range(3)] + [(3, step) for step in range(4)]
    for number, step in asked:
        params = {"analysis": "regression", "answers": answers[:number], "step": step}
        apart = handlers.answer(large, "clew/wizard", params)
        assert bool(folders(large)) == (number > 0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answer_process, "LARGE", 1 << 60)
            assert handlers.answer(here, "clew/wizard", params) == apart
    assert "The file has changed since the run" in apart["step"]["sentence"]
    line = line_of("shop/stock.py", "def lookup")
    assert [str(line), path.read_text().splitlines()[line - 1]] in [row["cells"] for row in apart["step"]["rows"]]


HELD = """
import ctypes, os, sys
from clew.server.session import answer_process as aside
from clew.server.guides import regressions
aside.LARGE = 1
def held(self, task, work=regressions.Regression._changes):
    "Until somebody writes one byte nothing else runs in this process: whoever waits has the interpreter."
    pipe = os.open({pipe!r}, os.O_RDONLY)
    ctypes.PyDLL(None).read(pipe, ctypes.create_string_buffer(1), 1)
    os.close(pipe)  # who opens it next waits for whoever is held next
    return work(self, task)
regressions.Regression._changes = held
"""


def test_lsp_server_answers_hovers_while_a_guide_runs(shop, line_of, tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "sitecustomize.py").write_text(HELD.format(pipe=str(pipe)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    runs = Session(shop)
    after, before = (runs.folder(name).name for name in ("after", "before"))
    wire = Wire(shop)
    try:
        wire.start(shop)
        path, line = shop / "shop/stock.py", line_of("shop/stock.py", "def lookup") - 1
        uri = wire.open(path.as_uri(), "python", path.read_text())
        asked = wire.begin("clew/wizard", {"analysis": "regression", "answers": [after, before, "0.05"]})
        with pipe.open("wb") as held:
            # The pipe is open at both ends: the guide is in the middle of its step.
            where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 10}}
            assert all("Stock.lookup" in str(wire.ask("textDocument/hover", where)) for _ in range(20))
            assert wire.answers[asked].empty()
            held.write(b"1")
        assert wire.end(asked)["result"]["step"]["rows"]
        asked = wire.begin("clew/wizard", {"analysis": "regression", "answers": [after, before, "0.01"]})
        with pipe.open("wb"):
            wire.tell("$/cancelRequest", {"id": asked})
            assert wire.end(asked)["error"]["code"] == CANCELLED
            wait_for(lambda: not folders(runs))
    finally:
        wire.process.kill()
        wire.process.wait()


def test_answer_process_errors_equal_those_in_process(large):
    with pytest.raises(ClewError, match="no run has a request named 'nobody'; there are order"):
        handlers.answer(large, "clew/compare", QUESTIONS[0][1] | {"request": "nobody"})
    with pytest.raises(ClewError, match="no run named 'no such run'"):
        handlers.answer(large, "clew/diff", {"before": "no such run", "after": "after"})
    assert not folders(large)
    assert handlers.answer(large, *QUESTIONS[3])["rows"]


def spin(session, began, task):
    Path(began).write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)


def test_answer_process_that_is_cancelled_ends(large, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    task, ended = Task(), []

    def ask():
        try:
            answer_process.answered(large, ["after"], task, spin, str(tmp_path / "began"))
        except Cancelled:
            ended.append(True)

    worker = threading.Thread(target=ask)
    worker.start()
    wait_for(lambda: (tmp_path / "began").exists() and (tmp_path / "began").read_text())
    task.cancel()
    worker.join(120)
    assert ended and not folders(large)


def test_answer_process_reports_phases_and_restarts_after_timeout(large, monkeypatch):
    monkeypatch.setattr(answer_process, "KEPT_SECONDS", 0.01)
    for _ in range(2):
        phases = []
        handlers.answer(large, *QUESTIONS[0], Task(phases.append))
        assert "following requests" in phases
        wait_for(lambda: large.helpers._idle is None)
    wait_for(lambda: not folders(large))


@pytest.mark.parametrize("most", [answer_process.MOST, 0])
def test_answer_process_with_memory_in_files_answers_the_same(large, shop, monkeypatch, most):
    made, begin = [], graph_aside.WorkerProcess.__init__

    def told(self, folder, *, large):
        made.append(large)
        begin(self, folder, large=large)

    monkeypatch.setattr(graph_aside.WorkerProcess, "__init__", told)
    monkeypatch.setattr(answer_process, "MOST", most)
    apart = handlers.answer(large, *QUESTIONS[4])
    assert made == [answer_process.NEVER if most else graph_aside.PARTS]
    monkeypatch.setattr(answer_process, "LARGE", 1 << 60)
    assert timeless(handlers.answer(Session(shop), *QUESTIONS[4])) == timeless(apart)


def test_answer_process_is_not_started_for_small_runs(shop):
    session = Session(shop)
    session.helpers.take = lambda *_: pytest.fail("another process was asked")
    assert handlers.answer(session, *QUESTIONS[0])["rows"]
