"""Logs in the editor: which texts are logs, where their lines lead, and log lines of texts without a document."""

import re

import pytest

from clew.graph.logs.lines import Lines
from clew.server.handlers import answer
from clew.server.locations.log_line import find, find_in, is_log_name, looks_like_log
from clew.server.lsp.features.document_links import NamedPlaces, links
from clew.server.lsp.features.log_lines import MAX_LENSES, hover, lenses
from clew.server.session.session import Task


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("server.log", True), ("server.log.1", True), ("x.log-20261121", True), ("catalog", False), ("log.py", False)],
)
def test_is_log_name_accepts_names_of_logs(name, is_one):
    assert is_log_name(name) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("2026-11-21 13:05:44,357 ERROR x\n  more\n", True),
        ("13:05:44 INFO one\n13:05:45 INFO two\n", True),
        ("nothing [clew 0123456789abcdef.1.1] INFO\n", True),
        ("The meeting of 2026-11-21 13:05:44 was an ERROR.\n" + "Other prose.\n" * 50, False),
        ("", False),
        ("\x00\x01" * 500, False),
    ],
)
def test_looks_like_log_accepts_texts_with_log_lines(text, is_one):
    assert looks_like_log(Lines.of_text(text)) is is_one


@pytest.fixture
def failed(shop):
    return [line for line in (shop / "shop.log").read_text().splitlines() if "Order failed" in line]


def test_log_line_is_found_in_the_run_that_wrote_it(session, failed):
    names = [find(session, line, Task()).run.info.name for line in failed]
    assert names == ["before", "after"]


def test_log_line_of_traceback_is_found_as_its_logged_line(session, failed):
    text = [
        failed[0],
        "Traceback (most recent call last):",
        '  File "shop/app.py", line 3, in f',
        "    x()",
        "shop.app.SoldOut: 17",
    ]
    text = [*text[:4], "KeyError: 17", "another line", failed[0]]
    lines = Lines.of_text("\n".join(text))
    wanted = find(session, failed[0], Task()).event
    assert [found.event if (found := find_in(session, lines, row, Task())) else None for row in range(7)] == [
        wanted, wanted, wanted, wanted, wanted, None, wanted,
    ]  # fmt: skip


def test_recognise_finds_log_lines_of_text_without_document(session, failed):
    said = answer(session, "clew/recognise", {"text": f"app  | {failed[1]}"})["lines"]
    assert [(line["target"]["line"], line["run"].rpartition("-")[2]) for line in said] == [
        (f"app  | {failed[1]}", "after")
    ]
    assert said[0]["title"].startswith("ERROR Order failed: item 17")
    text = f"app  | {failed[1]}"
    assert text[said[0]["begin"] : said[0]["end"]].startswith("Order failed")
    shown = answer(session, "clew/slice", {"target": said[0]["target"]})
    assert shown["chain"][0]["title"] == said[0]["title"]
    for foreign in ("", "$ ls -l", "2001-01-01 00:00:00 ERROR Order failed: item 17 is sold out", "\x00\ufffd"):
        assert answer(session, "clew/recognise", {"text": foreign}) == {"lines": []}


def test_links_lead_to_existing_files(session, shop, line_of):
    text = f'  File "{shop}/shop/app.py", line 3, in f\nx shop/stock.py:12: y\né app.py:7 no.py:3 \n  File "<string>", line 1\n'
    lines = Lines.of_text(text)
    found = links(session, (shop / "shop.log").as_uri(), lines, Task(), commands=True)
    app, stock = ((shop / name).as_uri() for name in ("shop/app.py", "shop/stock.py"))
    assert [(link.range.start.line, link.range.start.character, link.target) for link in found] == [
        (2, 2, f"{app}#L7"), (1, 2, f"{stock}#L12"), (0, 2, f"{app}#L3"),
    ]  # fmt: skip
    places = NamedPlaces(session, "output:x", Task())
    assert places.at(lines.line(2), 4) == (str(shop / "shop/app.py"), 7)
    assert places.at(lines.line(2), 0) is None


def test_links_of_event_ids_need_a_client_with_the_command(session):
    lines = Lines.of_text("hi [clew 0123456789abcdef.1.1]\n")
    (link,) = links(session, "output:x", lines, Task(), commands=True)
    assert link.target.startswith("command:clew.why?")
    assert (link.range.start.character, link.range.end.character) == (3, 30)
    assert links(session, "output:x", lines, Task(), commands=False) == []


def test_log_lenses_beyond_the_limit_are_left_out_and_counted():
    made = lenses(Lines.of_text("ERROR\n" * (MAX_LENSES + 10)))
    assert made[0].command.title == "10 earlier lines with errors or warnings: run Clew: Why"
    assert [lens.range.start.line for lens in made[1:]] == list(range(10, MAX_LENSES + 10))
    assert lenses(Lines.of_text("ERROR\n"))[0].command is None


def test_log_hover_names_the_runs_that_may_have_written_the_line(session, failed, monkeypatch):
    lines = Lines.of_text("\n".join(line.partition(" ")[2] for line in failed))
    assert re.match(r"\d{4}-\d\d-\d\d ", failed[0])  # the lines above lack this day of recording
    text = hover(session, lines, 0, Task(), link=True)
    assert "in run before" in text
    vague = Lines.of_text("INFO shop.stock: item 17 is sold out")
    assert hover(session, vague, 0, Task(), link=False) == "" or "led to it" in hover(
        session, vague, 0, Task(), link=False
    )
