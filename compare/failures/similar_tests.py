"""Choose the tests that a failed test is compared with, line by line, in a second look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.compare.failures.recorded_tests import Mask, RecordedTests
from clew.compare.failures.spectrum import likeness

MOST_PASSED, MOST_FAILED = 20, 10
LONGEST_NS = 500e6
"""The recorded time of all chosen tests together. Following their lines takes longer."""


@dataclass(frozen=True)
class SimilarTest:
    test: str
    """Its id."""
    has_failed: bool
    likeness: float
    """The cosine between the functions that it called and those of the failed test, from 0 to 1."""
    took: float
    """In nanoseconds, in the recorded run."""


def similar_tests(tests: RecordedTests, test: int, alike: Mask) -> list[SimilarTest]:
    """Return the tests of the session that called the most of the functions of a test, given by its index, the most similar
    first. `alike` tells which tests failed as it did; other failed tests are left out."""
    like = likeness(tests.pairs, len(tests.nodes), tests.called(test))
    taken = (tests.passed | (tests.failed & alike)) & tests.own & (like > 0)
    taken[test] = False
    roots = tests.flows.first[:-1]
    took = tests.flows.total_ns[roots]
    chosen: dict[str, SimilarTest] = {}
    left = {False: MOST_PASSED, True: MOST_FAILED}
    total = 0.0
    for one in sorted(np.flatnonzero(taken).tolist(), key=lambda each: -like[each]):
        node, has_failed = tests.nodes[one], bool(tests.failed[one])
        if node in chosen or node == tests.nodes[test] or not left[has_failed] or total + took[one] > LONGEST_NS:
            continue
        total += took[one]
        left[has_failed] -= 1
        chosen[node] = SimilarTest(node, has_failed, float(like[one]), float(took[one]))
    return list(chosen.values())
