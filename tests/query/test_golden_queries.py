"""Compare `repr` and `explain` of each query in docs/queries.md with tests/golden/queries/plans.txt.

`CLEW_UPDATE_GOLDEN=1 pytest tests/query/test_golden_queries.py` rewrites the file; read the difference before you commit it.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

from clew.query.results import Query
from tests.support.documented_queries import EXAMPLES
from tests.support.runs.query_run import store

GOLDEN = Path(__file__).parents[1] / "golden" / "queries" / "plans.txt"


def test_query_plans_equal_golden_file(new_run):
    names = {name: store(new_run(name)) for name in ("run", "before", "after")}
    told = []
    for statement in (statement for example in EXAMPLES for statement in ast.parse(example).body):
        if not isinstance(statement, ast.Expr | ast.Assign):
            continue
        value = eval(compile(ast.Expression(statement.value), "docs/queries.md", "eval"), names)
        if isinstance(statement, ast.Assign):
            names[ast.unparse(statement.targets[0])] = value
        if isinstance(value, Query):
            told.append(f"{ast.unparse(statement.value)}\n{value!r}\n{value.explain()}\n")
    text = "\n".join(told)
    for name in ("run", "before", "after"):
        text = text.replace(names[name].info.id, name.upper())
    if os.environ.get("CLEW_UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
