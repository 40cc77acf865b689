"""Every statement in docs/store.md returns rows, and every column that it names exists."""

import re
from pathlib import Path

import pytest

import clew
from clew.query.sql import VIEWS

DOC = (Path(__file__).parents[3] / "docs" / "store.md").read_text(encoding="utf-8")
STATEMENTS = [
    statement.strip()
    for block in re.findall(r"```sql\n(.*?)```", DOC, re.S)
    for statement in block.split(";\n")
    if statement.strip()
]
PYTHON = re.search(r"```python\n(.*?)```", DOC, re.S)[1]


@pytest.fixture
def opened(new_run):
    run = new_run()
    client, server = run.process("client").thread(), run.process("server").thread("worker")
    client.enter("client:ask").request("ask").send(1).exit("client:ask")
    server.enter("server:handle").receive(1).log("item 17 is sold out", level=40).exit("server:handle")
    return clew.open(run.write())


@pytest.mark.parametrize("statement", STATEMENTS)
def test_store_document_sql_example_returns_rows(opened, statement):
    assert len(opened.sql(statement)) > 0


def test_store_document_python_examples_return_values(opened):
    answers = [
        eval(line, {"run": opened, "failed": opened.events.where(level="ERROR").slice()})
        for line in PYTHON.splitlines()[1:]
    ]
    assert answers[0].count() > 0
    assert answers[1].to_pylist() == [{"text": "item 17 is sold out"}]


def test_store_document_tables_have_the_named_columns(opened):
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| (.*) \|$", DOC, re.M)
    assert {name for name, _ in rows} == set(VIEWS)
    for name, described in rows:
        columns = opened.sql(f"select * from {name}").columns
        named = re.findall(r"`(\w+)`", re.sub(r"\([^()]*\)", "", described))
        assert set(named) <= set(columns), name
        if "…" not in re.sub(r"\([^()]*\)", "", described):
            assert sorted(named) == sorted(columns), name
