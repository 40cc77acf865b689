"""Custom views of a workspace: which are listed, when they are served, and their SQL statements."""

import re
from pathlib import Path

import pytest

from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.session.session import Session
from clew.server.views.custom_views import MOST_VIEWS, views_folder

EXAMPLE = Path(__file__).parents[3] / "examples/views/slowest.js"


def write(workspace, name, text="export default {};"):
    folder = views_folder(workspace)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_custom_views_without_folder_are_empty(tmp_path):
    assert handlers.answer(Session(tmp_path), "clew/views", {}) == {"views": [], "message": ""}


def test_custom_views_are_sorted_and_have_a_version_by_content(tmp_path):
    for name in ("b.js", "a.js", "notes.md"):
        write(tmp_path, name)
    session = Session(tmp_path)
    first = handlers.answer(session, "clew/views", {})["views"]
    assert [view["name"] for view in first] == ["a.js", "b.js"]
    write(tmp_path, "a.js", "export default { changed: true };")
    second = handlers.answer(session, "clew/views", {})["views"]
    assert [one["version"] == two["version"] for one, two in zip(first, second, strict=True)] == [False, True]


def test_custom_views_of_untrusted_workspace_are_not_loaded(tmp_path):
    write(tmp_path, "calls.js")
    session = Session(tmp_path)
    session.trusted = False
    answer = handlers.answer(session, "clew/views", {})
    assert answer["views"] == []
    assert "calls.js" in answer["message"] and "--trust" in answer["message"]


def test_custom_views_over_the_limit_are_counted(tmp_path):
    for number in range(MOST_VIEWS + 3):
        write(tmp_path, f"v{number:03}.js")
    answer = handlers.answer(Session(tmp_path), "clew/views", {})
    assert len(answer["views"]) == MOST_VIEWS
    assert answer["message"].startswith("3 more")


def test_sql_answer_is_plain_json_and_bounded(session):
    asked = {"statement": "select id, kind, ts::decimal(18, 3) as ts from events order by id", "maxRows": 2}
    answer = handlers.answer(session, "clew/sql", asked)
    assert answer["columns"] == ["id", "kind", "ts"]
    assert [row[0] for row in answer["rows"]] == [0, 1]
    assert all(isinstance(row[2], str) for row in answer["rows"])
    [[events]] = session.open().sql("select count(*) from events")
    assert answer["hiddenRows"] == events - 2 > 0


def test_sql_answer_has_columns_of_one_name_and_binds_parameters(session):
    asked = {"statement": "select 1 as a, ? as a", "parameters": ["two"]}
    answer = handlers.answer(session, "clew/sql", asked)
    assert answer["rows"] == [[1, "two"]]


def test_custom_view_example_statement_is_valid(session):
    statement = re.search("STATEMENT = `(.*?)`", EXAMPLE.read_text(), re.S)[1]
    asked = {"statement": statement, "parameters": ["%lookup%"]}
    answer = handlers.answer(session, "clew/sql", asked)
    rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    assert {row["qualname"] for row in rows} == {"Stock.lookup"}
    assert [row["total_ns"] for row in rows] == sorted((row["total_ns"] for row in rows), reverse=True)


@pytest.mark.parametrize("statement", ["select nothing from nowhere", "drop table events", "copy events to 'x.csv'"])
def test_sql_statement_that_is_no_query_is_refused(session, statement, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ClewError):
        handlers.answer(session, "clew/sql", {"statement": statement})
    assert list(tmp_path.iterdir()) == []
