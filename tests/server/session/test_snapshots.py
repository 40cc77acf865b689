"""Answers about a live run are about one snapshot, whose events keep their numbers."""

import re
from pathlib import Path

import pytest

from clew.records.errors import RunError
from clew.records.run.directory import save_run
from clew.server import handlers
from clew.server.locations.log_line import find
from clew.server.lsp.features import log_lines
from clew.server.session import answer_process
from clew.server.session import session as sessions
from clew.server.session.session import Session, Task, is_snapshot
from tests.support.requirements import needs_own_process
from tests.support.runs.damaged_runs import empty_run

LINE = "item 17 is sold out"


class Program:
    """One thread sends, another thread receives and logs; new events of the first shift the event numbers of the second."""

    def __init__(self, workspace):
        self.run = empty_run(workspace, "program")
        process = self.run.process("app")
        self.main, self.worker = process.thread(), process.thread("worker")
        self.sent = 0
        self.main.enter("main")
        self.grow()
        self.worker.log(LINE, level=40)
        self.recorded()

    def recorded(self):
        self.folder = self.run.write()
        save_run(self.folder, self.run.info)  # the run is not finished

    def grow(self, times=1):
        for _ in range(times):
            self.main.send(self.sent)
            self.worker.receive(self.sent).enter("work").exit("work")
            self.sent += 1
        self.recorded()

    def ends(self):
        self.worker.log("the end")
        self.run.write()


@pytest.fixture
def program(tmp_path, monkeypatch):
    # Every request reads the files again if they have changed.
    monkeypatch.setattr(sessions, "PAUSE", 0.0)
    monkeypatch.setattr(sessions, "PAUSES", 0)
    return Program(tmp_path)


@pytest.fixture
def live(program, tmp_path):
    return Session(tmp_path)


def numbered(session):
    """Return the present event number of the line."""
    written = find(session, LINE, Task())
    return written.event


def timeless(answer):
    answer.get("numbers", {}).pop("elapsedMs", None)
    return answer


@pytest.mark.parametrize("target", [{"line": LINE}, {"text": "sold out"}, {}])
def test_snapshot_walk_from_log_line_keeps_its_event_numbers(live, program, target):
    first = handlers.answer(live, "clew/walk", {"target": target})
    event, run = first["card"]["event"], first["run"]
    assert first["card"]["title"] == f"ERROR {LINE}" and event == numbered(live)
    assert run["id"] == f"{program.folder.name}@6-60" and not run["finished"]
    assert re.fullmatch(r"program, its first \d+ ns", run["name"])
    before = {
        step: handlers.answer(live, "clew/walk", {"target": {"event": event}, "run": run["id"], "step": step})
        for step in ("here", "cause", "previous", "out")
    }
    program.grow(3)
    assert numbered(live) != event
    for step, told in before.items():
        asked = {"target": {"event": event}, "run": run["id"], "step": step}
        assert handlers.answer(live, "clew/walk", asked) == told
    assert before["cause"]["moved"] and before["cause"]["card"] != first["card"]
    # A new request takes the newest snapshot.
    again = handlers.answer(live, "clew/walk", {"target": {"line": LINE}})
    assert again["card"]["event"] == numbered(live) and again["run"]["id"] == f"{program.folder.name}@18-180"
    program.ends()
    for step, told in before.items():
        asked = {"target": {"event": event}, "run": run["id"], "step": step}
        answer = handlers.answer(live, "clew/walk", asked)
        assert (answer["card"], answer["run"]["id"]) == (told["card"], run["id"])
    over = handlers.answer(live, "clew/walk", {"target": {"line": LINE}})
    assert over["run"]["id"] == program.folder.name and over["run"]["finished"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("clew/slice", {"target": {"line": LINE}}),
        ("clew/slice", {"target": {"line": LINE}, "level": "event"}),
        ("clew/criticalPath", {"target": {"line": LINE}}),
        ("clew/aggregate", {"target": {"line": LINE}}),
        ("clew/aggregate", {}),
        ("clew/timeline", {}),
        ("clew/patterns", {}),
        ("clew/sql", {"statement": "select id, ts from events where kind = 'log'"}),
    ],
)
def test_snapshot_answers_name_their_snapshot_and_stay_the_same(live, program, method, params):
    told = timeless(handlers.answer(live, method, params))
    assert told["run"]["id"] == f"{program.folder.name}@6-60"
    target = {"target": {"event": numbered(live)}} if "target" in params else {}
    program.grow(3)
    asked = params | target | {"run": told["run"]["id"]}
    assert timeless(handlers.answer(live, method, asked)) == told


def test_snapshot_localize_evidence_names_its_snapshot(live, program):
    for number in range(12):
        program.main.request("order").enter("order").enter("pay")
        if number == 7:
            program.main.log("card refused", level=40).unwind("pay").unwind("order")
        else:
            program.main.exit("pay").exit("order")
    program.recorded()
    told = handlers.answer(live, "clew/localize", {"suspect": [""]})
    (run,) = told["suspect"]
    assert run["id"].startswith(f"{program.folder.name}@")
    assert {piece["run"] for piece in told["suspects"][0]["evidence"]} == {run["id"]}
    program.grow(3)
    assert handlers.answer(live, "clew/localize", {"suspect": [run["id"]]}) == told


def test_guide_on_live_run_uses_the_snapshot_of_its_first_step(live, program):
    answers = [program.folder.name, "app:worker:1", "last"]
    asked = handlers.answer(live, "clew/wizard", {"analysis": "errors", "answers": answers[:1]})
    answers[1] = asked["question"]["choices"][0]["value"]
    asked = {"analysis": "errors", "answers": answers}
    first = handlers.answer(live, "clew/wizard", asked)["step"]
    assert first["run"] == f"{program.folder.name}@6-60" and first["rows"][0]["cells"][0] == "1"
    program.grow(3)
    program.worker.log(LINE, level=40)
    program.recorded()
    found = [handlers.answer(live, "clew/wizard", asked | {"step": step}) for step in range(5)]
    # A new start takes the newest snapshot.
    assert found[0]["step"]["run"] != first["run"] and found[0]["step"]["rows"][0]["cells"][0] == "2"
    program.grow()
    again = handlers.answer(live, "clew/wizard", asked | {"step": 1})["step"]
    assert again == found[1]["step"] and again["run"] == found[0]["step"]["run"] == again["params"]["run"]
    card = handlers.answer(live, "clew/walk", {"target": again["params"]["target"], "run": again["run"]})["card"]
    assert card["title"] == f"ERROR {LINE}"
    saved = Path(found[4]["saved"]).read_text()
    assert f"run = clew.open({program.folder.name!r})".replace("'", '"') in saved
    assert "# The run was still live." in saved


@needs_own_process
def test_snapshot_is_not_answered_by_an_answer_process(live, program, monkeypatch):
    monkeypatch.setattr(answer_process, "LARGE", 1)
    first = handlers.answer(live, "clew/slice", {"target": {"line": LINE}})
    run, events = first["run"]["id"], [step["event"] for step in first["chain"]]
    program.grow(3)
    program.ends()
    try:
        for target in ({"event": events[0]}, {"function": "app:work"}):
            again = handlers.answer(live, "clew/slice", {"target": target, "run": run})
            assert again["run"]["id"] == run and again["numbers"]["eventsInRun"] == 6
        chain = handlers.answer(live, "clew/slice", {"target": {"event": events[0]}, "run": run})["chain"]
        assert [step["event"] for step in chain] == events
        assert live.helpers._idle is None
        # A request about the whole run is answered by an answer process.
        whole = handlers.answer(live, "clew/slice", {"target": {"function": "app:work"}})
        assert whole["run"]["id"] == program.folder.name and live.helpers._idle is not None
    finally:
        live.helpers.end()


def test_snapshot_functions_count_only_its_calls(live, program):
    run = handlers.answer(live, "clew/walk", {"target": {"line": LINE}})["run"]["id"]
    program.grow(3)
    program.ends()

    def calls(which):
        return next(one.calls for one in live.functions(which).by_site.values() if one.label == "app:work")

    assert (calls(run), calls("")) == (1, 4)


def test_snapshot_no_longer_cached_raises(live, program):
    first = handlers.answer(live, "clew/walk", {"target": {"line": LINE}})
    asked = {"target": {"event": first["card"]["event"]}, "run": first["run"]["id"]}
    for _ in range(sessions.SNAPSHOT_RUNS + 1):
        program.grow()
        handlers.answer(live, "clew/walk", {"target": {"line": LINE}})
        # A walk that continues keeps its snapshot cached.
        assert handlers.answer(live, "clew/walk", asked)["card"] == first["card"]
    for _ in range(sessions.SNAPSHOT_RUNS):
        program.grow()
        handlers.answer(live, "clew/walk", {"target": {"line": LINE}})
    with pytest.raises(RunError, match=r"with 6 events is no longer cached; ask again"):
        handlers.answer(live, "clew/walk", asked)
    with pytest.raises(RunError, match="no run named 'none@6-60'"):
        live.open("none@6-60")


def test_snapshots_that_are_large_are_cached_in_smaller_number(live, program, monkeypatch):
    monkeypatch.setattr(sessions, "SNAPSHOT_EVENTS", 20)
    runs = []
    for _ in range(3):
        runs.append(handlers.answer(live, "clew/walk", {"target": {"line": LINE}})["run"]["id"])
        program.grow()
    assert is_snapshot(live.open(runs[-1]))
    with pytest.raises(RunError):
        live.open(runs[0])


def test_log_links_lead_to_the_line_after_the_run_has_grown(live, program):
    lines = live.logs.of_text("x.log", 1, f"{LINE}\n")
    walk = log_lines.command(live, {"text": LINE, "walk": True}, Task()).arguments[0]
    why = log_lines.command(live, {"text": LINE}, Task()).arguments[0]
    told = log_lines.hover(live, lines, 0, Task(), link=True, walks=True)
    assert "Walk from here" in told and "@" not in told
    program.grow(3)
    assert handlers.answer(live, "clew/walk", walk)["card"]["event"] == numbered(live)
    assert handlers.answer(live, "clew/slice", why)["chain"][0]["event"] == numbered(live)


def test_log_hover_of_ambiguous_line_links_into_its_snapshot(live, program):
    program.worker.log(LINE, level=40)
    program.grow()
    lines = live.logs.of_text("x.log", 1, f"{LINE}\n")
    told = log_lines.hover(live, lines, 0, Task(), link=True)
    assert "2 events may have written it" in told
    links = re.findall(r"event%22%3A%20(\d+)", told)
    (run,) = set(re.findall(rf"{program.folder.name}%40\d+-\d+", told))
    program.grow(3)
    for event in links:
        asked = {"target": {"event": int(event)}, "run": run.replace("%40", "@")}
        assert handlers.answer(live, "clew/walk", asked)["card"]["title"] == f"ERROR {LINE}"
    assert len(links) == 2
