"""Recorded lines are mapped to an edited text in every feature that shows lines."""

import pytest

from clew.records.run import source_snapshots
from clew.server import handlers
from clew.server.locations import line_mapping
from clew.server.protocol.codec import encode
from clew.server.protocol.session import LocateParams, PresentParams, SourceParams
from clew.server.protocol.shared import Location, Target
from clew.server.protocol.views.slice import SliceParams
from clew.server.session.session import Session, Task


@pytest.fixture
def edit(session, shop):
    """Return a function that gives a file of the shop an unsaved text, as an editor does."""
    texts = {}
    session.open_texts = texts.items

    def edit(file, text):
        texts[str(shop / file)] = text

    return edit


@pytest.fixture
def folder(session):
    return session.folder("before")


def ask(session, method, params):
    return handlers.answer(session, method, encode(params), Task())


def test_line_mapping_of_unedited_file_is_exact(session, shop, folder):
    path = str(shop / "shop/stock.py")
    for line in range(1, len((shop / "shop/stock.py").read_text().splitlines()) + 1):
        assert line_mapping.places(session, folder, path).line(line) == (line, "exact")
        assert line_mapping.recorded_line(session, folder, path, line) == (line, "exact")


def test_line_mapping_added_lines_move_others_and_changed_lines_are_stale(session, shop, folder, edit, line_of):
    path, text = str(shop / "shop/app.py"), (shop / "shop/app.py").read_text()
    logged = line_of("shop/app.py", "log.error")
    edit("shop/app.py", "# new\n# lines\n" + text)
    assert line_mapping.places(session, folder, path).line(logged) == (logged + 2, "moved")
    assert line_mapping.recorded_line(session, folder, path, logged + 2) == (logged, "moved")
    assert line_mapping.recorded_line(session, folder, path, 1).state == "stale"
    edit("shop/app.py", text.replace("log.error(", "log.critical("))
    assert line_mapping.places(session, folder, path).line(logged) == (logged, "stale")
    answer = ask(session, "clew/present", PresentParams(Location(path, logged), "before"))
    assert (answer["state"], answer["message"]) == ("stale", "This was changed or removed since it was recorded.")


def test_line_mapping_function_follows_its_text_then_its_name(session, shop, folder, edit, line_of):
    path, text = str(shop / "shop/stock.py"), (shop / "shop/stock.py").read_text()
    line = line_of("shop/stock.py", "def lookup")

    def found():
        return line_mapping.places(session, folder, path).function("Stock.lookup", line)[:2]

    assert found() == (line, "exact")
    for edited, expected in (
        ("\n" + text, (line + 1, "moved")),
        # Its class was renamed: the text decides.
        (text.replace("class Stock", "class Store"), (line, "exact")),
        # Its first line has changed: the name decides.
        (text.replace("def lookup(", "async def lookup(now, "), (line, "exact")),
        (text.replace("    def lookup", "    @cached\n    def lookup"), (line + 1, "exact")),
        # Another function took its name, and its own line still exists: the text decides.
        (text.replace("    def lookup", "    def lookup(x):\n        pass\n\n    def lookup"), (line + 3, "moved")),
        ("def f(:\n" + text, (line + 1, "moved")),
        (text.replace("def lookup", "def find"), (line, "stale")),
        ("", (1, "stale")),
    ):
        edit("shop/stock.py", edited)
        assert found() == expected, edited[:80]


def test_locate_finds_the_function_around_a_line_of_an_edited_file(session, shop, edit, line_of):
    path, text = str(shop / "shop/stock.py"), (shop / "shop/stock.py").read_text()
    line = line_of("shop/stock.py", "def lookup")

    def function(line):
        return ask(session, "clew/locate", LocateParams(Location(path, line), "before"))["function"]

    edit("shop/stock.py", "# new\n" + text)
    assert function(line + 2) == "shop.stock:Stock.lookup"
    edit("shop/stock.py", text.replace("class Stock", "class Store"))
    assert function(line + 1) == "shop.stock:Stock.lookup"
    edit("shop/stock.py", "# new\n" + text + "\ndef (:\n")
    assert function(line + 2) == "shop.stock:Stock.lookup"
    edit("shop/stock.py", text.replace("def lookup", "def find"))
    assert function(line + 1) == ""


def test_slice_at_moved_logging_call_targets_its_log_line(session, shop, edit, line_of):
    path, text = str(shop / "shop/app.py"), (shop / "shop/app.py").read_text()
    logged = line_of("shop/app.py", "log.error")
    edit("shop/app.py", "\n\n" + text)
    answer = ask(session, "clew/slice", SliceParams(Target(location=Location(path, logged + 2)), "before"))
    assert answer["title"].startswith("ERROR Order failed")
    # The new logging call has logged nothing, so the target is the call around it.
    edit("shop/app.py", text.replace("log.error(", "log.error(1, "))
    answer = ask(session, "clew/slice", SliceParams(Target(location=Location(path, logged)), "before"))
    assert not answer["title"].startswith("ERROR Order failed")


def test_source_of_edited_file_shows_the_text_that_ran(session, shop, edit, line_of):
    path, text = str(shop / "shop/app.py"), (shop / "shop/app.py").read_text()
    logged = line_of("shop/app.py", "log.error")
    asked = SourceParams(Location(path, logged), 0, "before")
    recorded = ask(session, "clew/source", asked)
    assert ("log.error" in recorded["lines"][0], recorded["message"]) == (True, "")
    edit("shop/app.py", "\n\n" + text)
    differs = ask(session, "clew/source", asked)
    assert (differs["lines"], differs["firstLine"]) == (recorded["lines"], logged)
    assert differs["message"] == "The file has changed since the run; this is the text that ran."


def test_line_mapping_without_recorded_text_uses_names(session, shop, folder, edit, line_of, monkeypatch):
    monkeypatch.setattr(line_mapping, "_index", lambda *_: {})
    path, text = str(shop / "shop/stock.py"), (shop / "shop/stock.py").read_text()
    line = line_of("shop/stock.py", "def lookup")
    there = line_mapping.places(session, folder, path)
    assert there.line(line) == (line, "stale")
    assert there.sentence("stale") == "The text of this file that ran is unknown."
    edit("shop/stock.py", "\n" + text)
    assert line_mapping.places(session, folder, path).function("Stock.lookup", line)[:2] == (line + 1, "moved")
    twice = "\n" + text.replace("    def lookup", "    def lookup(x):\n        pass\n\n    def lookup")
    edit("shop/stock.py", twice)
    assert line_mapping.places(session, folder, path).function("Stock.lookup", line).state == "stale"


def test_line_mapping_uncertain_recorded_text_is_stale_with_the_reason(session, shop, folder, monkeypatch):
    path = str(shop / "shop/stock.py")
    (source,) = [one for name, one in source_snapshots.index(folder).items() if name == path]
    doubtful = source._replace(certain=False, why="it was changed during the run")
    monkeypatch.setattr(line_mapping, "_index", lambda *_: {path: doubtful})
    there = line_mapping.places(session, folder, path)
    assert there.line(3).state == there.recorded_line(3).state == "stale"
    assert there.sentence("stale") == "The text of this file that ran is unknown: it was changed during the run."


def test_session_open_saves_missing_source_snapshots(session, shop, folder):
    (folder / source_snapshots.INDEX_FILE).unlink()
    Session(shop).open("before")
    assert source_snapshots.index(folder)[str(shop / "shop/stock.py")].certain


def test_recorded_sites_are_at_their_lines_of_the_recorded_text(session, folder):
    """Compare the places of log lines and functions of the run with the saved text."""
    graph = session.open("before").graph
    known = source_snapshots.index(folder)
    seen = 0
    for number, site in enumerate(graph.sites):
        if site.file in known and site.kind in ("log", "function", "coroutine"):
            line = source_snapshots.text(folder, known[site.file]).splitlines()[site.line - 1]
            assert ("log." if site.kind == "log" else "def ") in line or line.strip().startswith("@"), (number, line)
            seen += 1
    assert seen >= 8
