"""A report has the panel's answers, names what it left out, and is a page that loads no other file."""

import base64
import copy
import hashlib
import json
import re
import zlib

import numpy as np
import pytest

from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.http.app import ServerError
from clew.server.reports.book import METHODS
from clew.server.reports.page import page
from clew.server.reports.report import VIEWS, ReportError, make_report


@pytest.fixture(scope="module")
def made(shop):
    from clew.server.session.session import Session

    return make_report(Session(shop), "after", "before")


def test_report_answers_equal_those_of_the_panel(made, session):
    for answer in copy.deepcopy(made.answers):
        now = handlers.answer(session, answer["method"], answer["params"])
        for one in (now, answer["result"]):
            one.pop("numbers", None)  # has how long it took
            one.pop("saved", None)  # a report saves no query
        if answer["method"] == "clew/timeline":
            assert answer["result"].pop("scales")
            answer["result"]["functions"] = answer["result"]["functions"][: len(now["functions"])]
            now.pop("scales")
            answer["result"]["message"] = now["message"]  # names what a report leaves out
        if answer["method"] == "clew/entities":
            answer["result"]["message"] = now["message"]
        if (question := answer["result"].get("question")) is not None:
            question["choices"], now["question"]["choices"] = _choices(question, now["question"])
        assert answer["result"] == now


def _choices(kept, all_):
    """Return the choices of both; those of a report are some of the question's, in its order."""
    ours, theirs = kept["choices"], all_["choices"]
    return ours, [one for one in theirs if one in ours]


def test_report_has_every_section_and_an_answer_for_each_entry(made):
    sections = dict.fromkeys(entry["section"] for entry in made.entries)
    assert [name.partition(" ")[0] for name in sections] == [
        "Errors",
        "The",
        "Patterns",
        "Time",
        "Compared",
        "Step",
        "When",
        "Entities",
    ]
    answered = [(one["method"], one["params"]) for one in made.answers]
    for entry in made.entries:
        first = {"step": 0} if entry["view"] == "wizard" else {}
        assert (METHODS[entry["view"]], {**entry["question"], **first}) in answered
    assert made.left_out == []


def test_report_targets_are_the_last_error_and_a_slowest_request(made, session):
    run = session.open("after")
    [[error]] = run.sql("select event from logs where level = 'ERROR' order by ts desc limit 1")
    first = next(entry for entry in made.entries if entry["section"] == "Errors")
    assert first["question"]["target"] == {"event": error}
    slowest = next(entry for entry in made.entries if entry["section"].startswith("The slowest"))
    took = {int(row[0]): int(row[1]) for row in run.sql("select last, last_ts - first_ts from (select r.last, "
        "l.ts as last_ts, f.ts as first_ts from regions r join events f on r.first = f.id join events l on r.last = l.id "
        "where r.kind = 'request')")}  # fmt: skip
    chosen = took[slowest["question"]["target"]["event"]]
    assert chosen >= sorted(took.values())[-3]


def test_report_has_the_source_around_every_place(made, line_of, shop):
    lines = {(one["path"], one["firstLine"] + at): text for one in made.sources for at, text in enumerate(one["lines"])}
    path = str(shop / "shop/stock.py")
    number = line_of("shop/stock.py", "def lookup")
    assert "def lookup" in lines[path, number]


def test_report_guide_has_the_steps_of_every_choice(made, session):
    known = {(one["params"]["analysis"], *one["params"]["answers"], one["params"]["step"]): one["result"]
             for one in made.answers if one["view"] == "wizard"}  # fmt: skip
    questions = {key: one["question"] for key, one in known.items() if one["question"]}
    assert len(questions) >= 3
    for (*before, _), question in questions.items():
        assert all((*before, choice["value"], 0) in known for choice in question["choices"])
    for (*before, _), one in known.items():
        assert all((*before, step) in known for step in range(one["steps"]))


def test_report_guide_writes_no_query_into_the_workspace(session):
    before = sorted((file, file.stat().st_mtime_ns) for file in session.workspace.glob(".clew/queries/*"))
    made = make_report(session, "after", only=["wizard"])
    assert {one["view"] for one in made.entries} == {"wizard"}
    assert sorted((file, file.stat().st_mtime_ns) for file in session.workspace.glob(".clew/queries/*")) == before


def test_report_walk_steps_equal_those_of_the_server(made, session):
    run, places = made.run["id"], {one["card"]["event"]: one for one in made.walk["places"]}
    told = {(one["event"], one["step"], one["choice"]): one for one in made.walk["crossings"]}
    error = next(entry for entry in made.entries if entry["section"] == "Errors")["question"]["target"]["event"]
    chain = next(one["result"]["chain"] for one in made.answers if one["view"] == "slice")
    assert {error, *(step["event"] for step in chain)} <= set(places)
    steps = [(event, way, choice, end) for event, one in places.items() for way in one["ways"]
             for choice, end in enumerate(way["ends"]) if end["event"] in places]  # fmt: skip
    assert len(places) > 20 and len(steps) > 60
    for event in list(places)[::7]:
        here = handlers.answer(session, "clew/walk", {"target": {"event": event}, "run": run})
        assert places[event] == {"card": here["card"], "ways": here["ways"]}
        assert (here["message"], here["clock"], here["gaps"], here["sentence"], here["ends"]) == ("", "", [], "", [])
    for event, way, choice, end in [
        *steps[::11],
        *(step for step in steps if (step[0], step[1]["step"], step[2]) in told),
    ]:
        asked = {"target": {"event": event}, "run": run, "step": way["step"], "choice": choice}
        step = handlers.answer(session, "clew/walk", asked)
        more = told.get((event, way["step"], choice), {"clock": "", "uncertain": False, "gaps": []})
        ends = [{**one, "onChain": False} for one in way["ends"]]  # depends on the previous event
        assert step["card"] == places[end["event"]]["card"] and step["ways"] == places[end["event"]]["ways"]
        assert (step["moved"], step["sentence"], step["ends"]) == (True, end["sentence"], ends)
        assert all(step[name] == more[name] for name in ("clock", "uncertain", "gaps"))
    stops = [(event, way) for event, one in places.items() for way in one["ways"] if not way["ends"]]
    for event, way in stops[::17]:
        step = handlers.answer(session, "clew/walk", {"target": {"event": event}, "run": run, "step": way["step"]})
        assert (step["moved"], step["sentence"]) == (False, way["stop"])


def test_report_walk_is_bounded(session, monkeypatch):
    monkeypatch.setattr("clew.server.reports.walk.MOST_EVENTS", 5)
    made = make_report(session, "after", only=["walk"])
    assert len(made.walk["places"]) == 5


def test_report_timeline_tiles_equal_those_of_the_server(made, session):
    timeline, run = made.timeline, made.run["id"]
    shown = next(one["result"] for one in made.answers if one["view"] == "timeline")
    assert shown["scales"] == [one["scale"] for one in timeline["scales"]] and len(shown["scales"]) >= 3
    assert len({one["site"] for one in shown["functions"]} & set(timeline["functions"])) == len(timeline["functions"])
    deepest = max(shown["strands"], key=lambda one: one["depth"])
    for scale in timeline["scales"]:
        row = scale["rows"].index([-1, deepest["strand"], 1])
        number = scale["first"] + scale["tiles"] // 2
        asked = {
            "run": run,
            "lanes": [{"strand": deepest["strand"], "depth": 1}],
            "scale": scale["scale"],
            "first": number,
        }
        tile = handlers.answer(session, "clew/timelineTile", asked)
        theirs = np.frombuffer(base64.b64decode(tile["cells"]), "<u2", 512)
        begin = (row * scale["tiles"] + number - scale["first"]) * 512
        ours = np.frombuffer(inflated(scale["cells"]), "<u2")[begin : begin + 512]
        assert named(ours, timeline["functions"]) == named(theirs, tile["functions"])
        covers = np.frombuffer(base64.b64decode(tile["cells"]), np.uint8, 512, 1024)
        assert (np.frombuffer(inflated(scale["covers"]), np.uint8)[begin : begin + 512] == covers).all()


def inflated(text):
    return zlib.decompress(base64.b64decode(text))


def named(cells, functions):
    """Return cells with sites in place of the answer's own numbers."""
    return [(cell >> 15, functions[(cell & 0x7FFF) - 1]) if cell else None for cell in cells.tolist()]


def test_report_timeline_calls_are_the_longest(made, session):
    calls, run = made.timeline["calls"], session.open(made.run["id"])
    lengths = [one["toNs"] - one["fromNs"] for one in calls]
    assert lengths == sorted(lengths, reverse=True)
    assert len(calls) == min(2000, made.timeline["allCalls"])
    assert {one["event"] for one in calls} <= {
        event for [event] in run.sql("select id from events where kind in ('enter', 'resume')")
    }


def test_report_over_the_size_limit_names_its_missing_parts(shop):
    from clew.server.session.session import Session

    small = make_report(Session(shop), "after", "before", limit=20_000)
    assert small.walk is None or len(json.dumps(small.walk)) < 5_500
    assert 0 < sum(len(json.dumps(one["result"])) for one in small.answers)
    assert small.left_out and all("over the size limit" in what for what in small.left_out)
    assert len(json.dumps([one["result"] for one in small.answers], separators=(",", ":"))) < 21_000


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "diff"])
def test_report_of_one_view_has_that_view_only(session, view):
    assert {entry["view"] for entry in make_report(session, "after", only=[view]).entries} == {view}


def test_report_invalid_options_raise_with_the_reason(session):
    with pytest.raises(ReportError, match="itself"):
        make_report(session, "after", "after")
    with pytest.raises(ReportError, match="--against"):
        make_report(session, "after", only=["diff"])
    with pytest.raises(ClewError, match="gone"):
        make_report(session, "gone")


@pytest.fixture
def static(tmp_path):
    (tmp_path / "report.js").write_text('const a = "</script><script><!-- x";')
    (tmp_path / "main.css").write_text("p { color: red }")
    (tmp_path / "layout.js").write_text("export const layered = 1;")
    return tmp_path


def test_report_page_policy_allows_only_its_own_script_and_style(static):
    text = page("<run>", {"entries": ["</script><b>"]}, static)
    assert "<title>&lt;run&gt;</title>" in text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    for kind, body in (("script", '<script type="module">(.*?)</script>'), ("style", "<style>(.*?)</style>")):
        inside = re.search(body, text, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy and "http" not in policy and policy.startswith("default-src 'none'")
    data = json.loads(re.search(r'id="clew-report">(.*?)</script>', text, re.S)[1])
    assert data == {"entries": ["</script><b>"], "layout": "export const layered = 1;"}
    assert text.count("</script>") == 2


def test_report_page_without_built_panel_raises(tmp_path):
    with pytest.raises(ServerError, match="not built"):
        page("x", {}, tmp_path)


def test_report_entities_steps_equal_the_panel_at_each_moment(made, session):
    run, steps = made.run["id"], made.entities["steps"]
    shown = next(one["result"] for one in made.answers if one["view"] == "entities")
    ends = [0, *(step["toMoment"] for step in steps)]
    assert [step["fromMoment"] for step in steps] == ends[:-1] and ends[-1] == shown["moments"]
    assert shown["moment"] in ends and ends == sorted(set(ends))
    boxes = {}
    for number, step in enumerate(steps):
        for entity in step["removed"]:
            del boxes[entity]
        boxes |= {box["entity"]: box for box in step["changed"]}
        if number % 20 == 0 or step["toMoment"] == shown["moment"]:
            now = handlers.answer(session, "clew/entities", {"run": run, "moment": step["toMoment"]})
            assert boxes == {box["entity"]: box for box in now["boxes"]}
    assert {one["entity"] for one in made.entities["about"]} <= {box["entity"] for box in shown["boxes"]}
