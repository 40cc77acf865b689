"""`clew sql`: the same answer as a table, JSON and CSV, and its error messages."""

import csv
import io
import json

QUERY = "select level, logger, text from logs where level = 'ERROR'"


def test_sql_prints_a_table_json_or_csv(shop):
    printed = shop("sql", "before", QUERY).stdout.splitlines()
    assert printed[0].split() == ["level", "logger", "text"]
    assert "Order failed: item 17 is sold out" in printed[1]
    rows = json.loads(shop("sql", "before", QUERY, "--json").stdout)
    assert [row["text"] for row in rows] == ["Order failed: item 17 is sold out"]
    read = list(csv.DictReader(io.StringIO(shop("sql", "before", QUERY, "--csv").stdout)))
    assert read == [{name: str(value) for name, value in row.items()} for row in rows]


def test_sql_binds_parameters_and_uses_the_newest_run(shop):
    query = "select count(*) as n from logs where text like ?"
    assert json.loads(shop("sql", "--param", "%sold out%", query, "--json").stdout)[0]["n"] > 0
    assert json.loads(shop("sql", "--param", "nothing", query, "--json").stdout) == [{"n": 0}]


def test_sql_invalid_statement_or_options_print_one_message(shop):
    assert 'column "levl" not found' in shop("sql", "select levl from logs", code=2).stderr
    assert "a run is read-only" in shop("sql", "drop view logs", code=2).stderr
    assert "at most one RUN and one quoted STATEMENT" in shop("sql", "a", "b", "c", code=2).stderr
    assert "use either --json or --csv" in shop("sql", "select 1", "--json", "--csv", code=2).stderr
