"""Recorded SQL contains the statement without its values, in any dialect."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.instrument.probes.actions.sql_templates import without_literals


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("SELECT * FROM t1 WHERE a = 'it''s' AND b IN (1, 2.5e-3, 0xF) -- y", "SELECT * FROM t1 WHERE a = ? AND b IN (?, …)"),
        ('SELECT "a"."id", "word" FROM "a" WHERE x="word"', 'SELECT "a"."id", ? FROM "a" WHERE x=?'),
        ("INSERT INTO `my t` ([c]) VALUES ($1, :1, ?1, %s, :name)", "INSERT INTO `my t` ([c]) VALUES ($1, :1, ?1, %s, :name)"),
        ("select $$it's$$, $tag$ $$ $tag$, X'AB' /* 'a */ from t", "select ?, …, X? from t"),
        ("select 'never ends", "select ?"),
        (r"select x, 'it\'s me' from t", "select x, ? …"),
        ("update t\n  set a=-1", "update t set a=-?"),
        ("trim(x from \"word\")", "trim(x from ?)"),
    ],
)  # fmt: skip
def test_sql_template_replaces_values_by_placeholders(statement, shown):
    assert without_literals(statement) == shown


@given(st.lists(st.one_of(st.integers(0, 2**63 - 1), st.text(), st.floats(0, 1e300)), min_size=1), st.booleans())
def test_sql_template_hides_every_value_that_sqlite_quotes(values, doubled):
    with sqlite3.connect(":memory:") as connection:
        quoted = [
            connection.execute(
                "select quote(?)", (value.replace("\0", "") if type(value) is str else value,)
            ).fetchone()[0]
            for value in values
        ]
    if doubled:
        quoted = ['"' + each.replace('"', '""').strip("'") + '"' for each in quoted]
    shown = without_literals(f"insert into t (c) values ({', '.join(quoted)}) returning c")
    assert shown.startswith("insert into t (c) values (")
    inside = shown.removeprefix("insert into t (c) values (").removesuffix(") returning c")
    assert not any(letter.isalnum() for letter in inside)


def test_sql_template_of_bytes_raises_type_error():
    with pytest.raises(TypeError):
        without_literals(b"select 1")
