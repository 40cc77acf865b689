"""The runs of a moved or copied workspace are shown in the files that it has now."""

import shutil
from pathlib import Path

import pytest

from clew.records.run.directory import load_run
from clew.records.run.relocated_paths import moved
from clew.server import handlers
from clew.server.locations.line_mapping import places
from clew.server.session.session import Session


@pytest.fixture
def copy(shop, tmp_path):
    return Path(shutil.copytree(shop, tmp_path / "elsewhere"))


def lookup(session, file):
    """Return (the recorded line of the function, its present line, its state)."""
    (found,) = [one for one in session.functions("").in_file(str(file)) if one.qualname == "Stock.lookup"]
    there = places(session, session.folder(""), str(file)).function(found.qualname, found.line)
    return found.line, there.line, there.state


def test_copied_workspace_has_the_statistics_of_its_own_files(copy, line_of):
    session, file = Session(copy), copy / "shop/stock.py"
    line = line_of("shop/stock.py", "def lookup")
    assert lookup(session, file) == (line, line, "exact")
    found = handlers.answer(session, "clew/locate", {"location": {"path": str(file), "line": line, "column": 0}})
    assert (found["function"], found["location"]["path"]) == ("shop.stock:Stock.lookup", str(file))
    assert not session.functions("").in_file(str(file).replace("elsewhere", "nowhere"))


def test_copied_workspace_edited_lines_are_moved_or_stale(copy):
    session, file = Session(copy), copy / "shop/stock.py"
    before = lookup(session, file)[0]
    text = file.read_text()
    file.write_text("# one\n# two\n" + text)
    assert lookup(session, file) == (before, before + 2, "moved")
    file.write_text(text.replace("def lookup", "def look_up"))
    assert lookup(session, file)[2] == "stale"


def test_copied_workspace_missing_file_has_its_recorded_path(copy, shop):
    (copy / "shop/stock.py").unlink()
    session = Session(copy)
    assert lookup(session, shop / "shop/stock.py")[2] == "exact"


def test_relocation_moves_paths_inside_the_workspace_only(copy, shop):
    folder = Session(copy).folder("")
    place = moved(folder, load_run(folder))
    assert place(str(shop / "shop/app.py")) == str(copy / "shop/app.py")
    assert place(str(shop) + "-2/shop/app.py") == str(shop) + "-2/shop/app.py"
    assert place("shop/app.py") == "shop/app.py"
    assert place(str(shop / "../app.py")) == str(shop / "../app.py")
    assert place("") == ""


def test_relocation_of_unmoved_workspace_is_missing(shop, tmp_path):
    folder = Session(shop).folder("")
    assert moved(folder, load_run(folder)) is None
    (tmp_path / "link").symlink_to(shop)
    linked = Session(tmp_path / "link").folder("")
    assert moved(linked, load_run(linked)) is None
    assert moved(tmp_path, load_run(folder)) is None
