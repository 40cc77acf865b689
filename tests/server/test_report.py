"""A report holds the panel's own answers, says what it left out, and is a page that loads nothing."""

import base64
import hashlib
import json
import re

import pytest

from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.http import ServerError
from clew.server.report import METHODS, VIEWS, ReportError, make_report
from clew.server.report_page import page


@pytest.fixture(scope="module")
def made(shop):
    from clew.server.session import Session

    return make_report(Session(shop), "after", "before")


def test_its_answers_are_those_of_the_panel(made, session):
    for answer in made.answers:
        now = handlers.answer(session, answer["method"], answer["params"])
        for one in (now, answer["result"]):
            one.pop("numbers", None)  # has how long it took
        assert answer["result"] == now


def test_it_has_every_section_and_each_entry_has_its_answer(made):
    sections = dict.fromkeys(entry["section"] for entry in made.entries)
    assert [name.partition(" ")[0] for name in sections] == ["Errors", "The", "What", "Compared"]
    answered = [(one["method"], one["params"]) for one in made.answers]
    assert all((METHODS[entry["view"]], entry["question"]) in answered for entry in made.entries)
    assert made.left_out == []


def test_the_error_and_the_slowest_request_are_the_ones(made, session):
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


def test_the_source_around_every_place_is_there(made, line_of, shop):
    lines = {(one["path"], one["firstLine"] + at): text for one in made.sources for at, text in enumerate(one["lines"])}
    path = str(shop / "shop/stock.py")
    number = line_of("shop/stock.py", "def lookup")
    assert "def lookup" in lines[path, number]


def test_what_does_not_fit_is_named(shop):
    from clew.server.session import Session

    small = make_report(Session(shop), "after", "before", limit=20_000)
    assert 0 < sum(len(json.dumps(one["result"])) for one in small.answers)
    assert small.left_out and all("more than the file may have" in what for what in small.left_out)
    assert len(json.dumps([one["result"] for one in small.answers], separators=(",", ":"))) < 21_000


@pytest.mark.parametrize("view", [name for name in VIEWS if name not in ("compare", "diff")])
def test_only_one_view_is_only_that(session, view):
    assert {entry["view"] for entry in make_report(session, "after", only=[view]).entries} == {view}


def test_what_cannot_be_is_said(session):
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


def test_the_page_allows_its_own_script_and_style_and_nothing_else(static):
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


def test_a_panel_that_is_not_built_is_said(tmp_path):
    with pytest.raises(ServerError, match="not built"):
        page("x", {}, tmp_path)
