"""What a second look tells about the suspects of a failed test: which lines ran in it and not in similar tests that passed,
and how near each line is to the value that was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from clew.compare.failures.similar_tests import SimilarTest
from clew.compare.failures.spectrum import ochiai
from clew.compare.failures.traceback_frames import plain
from clew.graph.values.slice_distance import SliceDistances
from clew.records.values.compared_tests import ComparedTest

OF_FUNCTION = 0.3
"""The weight of a function's score among those of lines."""
Line = tuple[str, int]
"""A file and the number of a line."""
FunctionKey = tuple[str, str]
"""A file and the qualified name of a function."""


@dataclass(frozen=True)
class LineCounts:
    """In how many compared tests a line ran, the failed test included."""

    failed: int
    passed: int
    score: float
    """Ochiai's coefficient, weighed by the likeness of the tests, from 0 to 1."""


@dataclass(frozen=True)
class LookEvidence:
    """The evidence of one second look."""

    distances: SliceDistances
    lines: Mapping[FunctionKey, Mapping[int, LineCounts]]
    """The lines that ran in the failed test. Those of a comprehension belong to the function around it."""
    missed: Mapping[FunctionKey, Mapping[int, int]]
    """The lines that passing tests ran and the failed test did not, with the number of tests."""
    failing: int
    passing: int
    """How many tests were compared, the failed test included."""

    def best_line(self, function: FunctionKey) -> int:
        """Return the most telling line of a function, of equal ones that nearest to the value; 0 if none ran."""
        lines = self._statements(function)
        return min(lines, key=lambda line: (-lines[line].score, self._nearness(function, line), -line), default=0)

    def ranked_lines(self, scores: Mapping[FunctionKey, float], most: int) -> list[tuple[FunctionKey, int]]:
        """Return the lines of functions with scores, the likeliest first."""
        found = []
        for function, score in scores.items():
            for line, counts in self._statements(function).items():
                telling = OF_FUNCTION * score + counts.score * (self.passing > 0)
                found.append((-round(telling, 9), self._nearness(function, line), -line, function))
        return [(function, -line) for _, _, line, function in sorted(found)[:most]]

    def _statements(self, function: FunctionKey) -> Mapping[int, LineCounts]:
        """Return the lines of a function without the first one, which runs in every call and computes nothing."""
        lines = self.lines.get(function, {})
        first = min(lines, default=0)
        return {line: counts for line, counts in lines.items() if line != first or len(lines) == 1}

    def _nearness(self, function: FunctionKey, line: int) -> float:
        return self.distances.lines.get((function[0], line), np.inf)


def look_evidence(
    ran: Mapping[FunctionKey, Iterable[int]],
    distances: SliceDistances,
    similar: Iterable[SimilarTest],
    compared: Iterable[ComparedTest],
) -> LookEvidence:
    """Return the evidence of the lines that ran in the failed test, and those of the tests that it is compared with.

    A test that ended otherwise in the second look than in the recorded run does not count.
    """
    chosen = {one.test: one for one in similar}
    known = [
        (one, chosen[one.test])
        for one in compared
        if one.test in chosen and one.outcome == ("failed" if chosen[one.test].has_failed else "passed")
    ]
    own: dict[Line, FunctionKey] = {}
    for (file, name), lines in ran.items():
        own.update(dict.fromkeys(((file, line) for line in lines), (file, plain(name))))
    number = {line: place for place, line in enumerate(own)}
    counts = np.zeros((2, len(own)))
    weights = np.zeros((2, len(own)))
    weights[1] = counts[1] = 1.0
    missed: dict[FunctionKey, dict[int, int]] = {}
    for one, similarity in known:
        side, weight = int(similarity.has_failed), 1.0 if similarity.has_failed else similarity.likeness
        for (file, line), name in _lines(one).items():
            place = number.get((file, line), -1)
            if place >= 0:
                counts[side, place] += 1
                weights[side, place] += weight
            elif not similarity.has_failed:
                of_function = missed.setdefault((file, name), {})
                of_function[line] = of_function.get(line, 0) + 1
    failing = 1 + sum(similarity.has_failed for _, similarity in known)
    scores = ochiai(weights[1], weights[0], float(failing))
    found: dict[FunctionKey, dict[int, LineCounts]] = {}
    for own_line, place in number.items():
        made = LineCounts(int(counts[1, place]), int(counts[0, place]), float(scores[place]))
        found.setdefault(own[own_line], {})[own_line[1]] = made
    return LookEvidence(_merged(distances), found, missed, failing, len(known) + 1 - failing)


def in_tests(counts: LineCounts, look: LookEvidence) -> str:
    """Return in how many compared tests a line ran: `2 of 2 failing and 0 of 20 similar passing tests`."""
    failing = f"{counts.failed:,} of {look.failing:,} failing"
    return (
        f"{failing} and {counts.passed:,} of {look.passing:,} similar passing tests"
        if look.passing
        else f"{failing} tests"
    )


def _lines(test: ComparedTest) -> dict[Line, str]:
    """Return the lines that a test ran, each with its function."""
    return {
        (file, line): plain(name)
        for file, functions in test.lines.items()
        for name, lines in functions.items()
        for line in lines
    }


def _merged(distances: SliceDistances) -> SliceDistances:
    """Return the distances with those of comprehensions at the functions around them."""
    functions: dict[FunctionKey, float] = {}
    for (file, name), distance in distances.functions.items():
        key = file, plain(name)
        functions[key] = min(distance, functions.get(key, distance))
    return SliceDistances(functions, distances.lines)
