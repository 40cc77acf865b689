"""Behaviours of functions in tests equal those that a walk over the calls finds."""

from __future__ import annotations

from itertools import groupby
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.compare.failures.behaviours import KINDS, LONGEST, behaviours_of

LABELS = 4
TREES = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(0, LABELS - 1), st.booleans(), st.integers(0, 3)),
    min_size=1,
    max_size=25,
)
"""Calls: a number that chooses the caller, the label, whether an exception left it, and when it began."""


def naive(calls, owner, above, outside) -> set[tuple[int, int, str, object]]:
    """Return test, function, kind and details of each behaviour."""
    found: set[tuple[int, int, str, object]] = set()
    for number, (_, label, failed, _) in enumerate(calls):
        if outside[number]:
            continue
        mine = owner[number], label
        kids = [kid for kid, caller in enumerate(above) if caller == number and not outside[kid]]
        kids.sort(key=lambda kid: calls[kid][3])
        order = tuple(label for label, _ in groupby(calls[kid][1] for kid in kids))
        found |= {(*mine, "call", label) for label in order}
        found.add((*mine, "order", order[:LONGEST]) if order else (*mine, "leaf", None))
        if failed:
            found.add((*mine, "raise", None))
    return found


@given(st.lists(TREES, max_size=4), st.data())
def test_behaviours_equal_those_of_a_walk(trees, data):
    calls, owner, above = [], [], []
    for test, tree in enumerate(trees):
        first = len(calls)
        for place, call in enumerate(tree):
            above.append(first + call[0] % place if place else -1)
            owner.append(test)
            calls.append(call)
    outside = [False] * len(calls)
    for number in range(len(calls)):
        chosen = data.draw(st.integers(0, 9)) == 0
        outside[number] = chosen or (above[number] >= 0 and outside[above[number]])
    flows = SimpleNamespace(
        label=np.array([call[1] for call in calls], np.int32),
        begin_ns=np.array([call[3] for call in calls], np.int64),
        failed=np.array([call[2] for call in calls], bool),
    )
    function = np.array([-1 if outside[number] else call[1] for number, call in enumerate(calls)], np.int64)
    found = behaviours_of(
        flows, function, np.array(outside, bool), np.array(owner, np.int64), np.array(above, np.int64)
    )
    expected = naive(calls, owner, above, outside)
    assert len(found.pairs) == len(expected)
    assert len(found.function) == len({each[1:] for each in expected})
    told = [
        (int(test), int(found.function[which]), KINDS[found.kind[which]], int(found.callee[which]))
        for test, which in found.pairs.tolist()
    ]
    assert sorted(told) == sorted(
        (test, label, kind, details if kind == "call" else -1) for test, label, kind, details in expected
    )
