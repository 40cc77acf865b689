"""Find the tests of a recorded session that called the function at a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.compare.failures.recorded_tests import tests_of
from clew.server.locations.definitions import around
from clew.server.locations.line_mapping import places
from clew.server.locations.paths import same_file_key

if TYPE_CHECKING:
    from clew.query.api import Run
    from clew.server.session.session import Session


def tests_at(session: Session, run: Run, path: str, line: int, text: str | None = None) -> list[str]:
    """Return the ids of the tests that called the innermost function around a line (from 1) of the present text.

    The failed ones come first, the newest in front. A test calls its own function.
    """
    there = places(session, run.folder, path, text)
    inner = around(there.now, line)[:1]
    if not inner:
        return []
    tests = tests_of(run)
    key = same_file_key(path)
    mine = [
        number
        for number, function in enumerate(tests.functions)
        if same_file_key(function.file) == key
        and there.function(function.qualname, function.line).definition == inner[0]
    ]
    called = set(tests.pairs[np.isin(tests.pairs[:, 1], mine), 0].tolist()) if len(tests.pairs) else set()
    plain = path.replace("\\", "/")
    for test, node in enumerate(tests.nodes):
        file, _, name = node.partition("[")[0].partition("::")
        if name.replace("::", ".") == inner[0].qualname and plain.endswith(f"/{file}"):
            called.add(test)
    failed, own = tests.failed, tests.own
    ordered = sorted((test for test in called if own[test]), key=lambda test: (not failed[test], -test))
    return list(dict.fromkeys(tests.nodes[test] for test in ordered))
