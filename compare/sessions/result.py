"""The result of a comparison of test sessions: changed tests, the responsible functions, and the certainty of the result.

Invariant: every reported difference has its number of sessions, its size and its certainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clew.compare.answer import Shown
from clew.compare.sessions.attribution import CallChange, Responsible
from clew.compare.sessions.function_changes import FunctionChange
from clew.compare.sessions.noise_model import Scatter, sessions_needed
from clew.compare.sessions.test_units import Subject
from clew.compare.sessions.wait_changes import Waits
from clew.compare.stats.thresholds import Bounded, bounded, fraction
from clew.graph.ops.diff import duration, times
from clew.graph.render.table import Table, table_of

SLOWER, FASTER, STRUCTURE, OUTCOME = "slower", "faster", "structure", "outcome"
PROCESSOR, WAITING = "processor time", "waiting"
"""The measures of a test: the processor time of all threads of its process, and its duration beyond that."""
NAMED = 5
SMALL = 0.2
"""The size of a change that is worth detecting; if it cannot be detected, the result names the number of sessions needed."""


@dataclass(frozen=True)
class Thresholds(Bounded):
    """The criteria for a changed test; `explain()` describes them in plain words."""

    alpha: float = fraction(0.05)
    """Accepted share of chance findings among tests reported as slower or faster, corrected for the number of tests."""
    change: float = bounded(0.1)
    """A test is slower or faster when its processor time changed by at least this share of it …"""
    floor_ms: float = bounded(1.0)
    """… and by at least this many milliseconds; shorter tests are not compared."""
    wait_ms: float = bounded(10.0)
    """A test is also slower when it waits longer by at least this many milliseconds and `change` of its total time …"""
    margin: float = bounded(3.0)
    """… and by this multiple of the noise: the variation of waiting in such tests without a change, or a quarter of it."""

    def explain(self) -> str:
        return (
            f"A test is slower or faster when its processor time, without fixtures, changed by at least {self.change:.0%} and "
            f"{self.floor_ms:g} ms, and by more than the noise of such times; at most {self.alpha:.0%} of the reported tests "
            f"are chance findings (Benjamini-Hochberg). A change that all tests share is removed first. A test is also slower "
            f"when it waits longer by at least {self.wait_ms:g} ms, and by {self.margin:g} times the noise: the largest "
            f"variation of waiting in tests of its length without a change, or a quarter of its waiting. Its flow changed "
            f"when a function is called, in the same chain of callers, more or less often than in any session before. A "
            f"function changed when the own time of its calls changed, at the median of all tests that call it."
        )


@dataclass(frozen=True)
class TestChange:
    """One way in which a test, its fixtures or a shared fixture changed. Times are in ns."""

    kind: str
    """"slower", "faster", "structure" or "outcome"."""
    subject: Subject
    samples_before: int
    samples_after: int
    measure: str = ""
    """For slower and faster tests: "processor time" or "waiting"."""
    before_ns: float | None = None
    """For processor time, the geometric means, with the shared change removed after; for waiting, the medians."""
    after_ns: float | None = None
    share: float | None = None
    """The effect size: the relative increase; negative for faster tests."""
    low: float | None = None
    high: float | None = None
    """For processor time, the bounds of the share at 95 %."""
    by_chance_ns: float | None = None
    """For waiting, the possible increase without a change."""
    p: float | None = None
    """For processor time, the probability corrected for the number of tests compared."""
    functions: tuple[Responsible, ...] = ()
    """For slower and faster tests: the functions whose own time changed, largest change first."""
    calls: tuple[CallChange, ...] = ()
    """For a test whose flow changed: the changed calls."""
    was: str = ""
    """For a changed outcome: the outcome before."""
    now: str = ""
    """For a changed outcome: the outcome after."""

    @property
    def name(self) -> str:
        return str(self.subject)

    def sentence(self) -> str:
        if self.kind == OUTCOME:
            return f"{self.was} before, {self.now} now"
        if self.kind == STRUCTURE:
            labels = list(dict.fromkeys(change.sentence() for change in self.calls))
            return "; ".join(labels[:3]) + _more(len(labels) - 3)
        return self.statistics() + (f": {self.functions[0].sentence()}" if self.functions else "")

    def statistics(self) -> str:
        """Return the statistics of a slower or faster test."""
        assert self.before_ns is not None and self.after_ns is not None and self.share is not None
        text = f"{duration(self.before_ns)} -> {duration(self.after_ns)} of {self.measure}"
        if self.measure == WAITING:
            return f"{text} ({duration(self.by_chance_ns or 0)} more may be noise)"
        assert self.low is not None and self.high is not None and self.p is not None
        return f"{text} ({percent(self.share)}, between {percent(self.low)} and {percent(self.high)}; p = {self.p:.2g})"


@dataclass(frozen=True, repr=False)
class Suites(Shown):
    """The comparison of two sets of sessions."""

    rows: tuple[TestChange, ...]
    """Slower tests by cost, then changed flows, changed outcomes, and faster tests."""
    thresholds: Thresholds
    before: tuple[str, ...]
    """Ids of the sessions."""
    after: tuple[str, ...]
    compared: int
    """Number of tests on both sides."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    scatter: Scatter
    """The noise of processor times."""
    waits: Waits
    counted: tuple[str, ...]
    """Functions that are not compared, because they ran too often for the budget."""
    responsible: tuple[Responsible, ...]
    """The responsible functions over all slower tests together."""
    functions: tuple[FunctionChange, ...]
    """Functions that changed over all tests that call them, even if no single test changed; highest cost first."""

    def of(self, *kinds: str) -> tuple[TestChange, ...]:
        return tuple(row for row in self.rows if row.kind in kinds)

    def sentence(self) -> str:
        labels = (
            (SLOWER, "slower"),
            (STRUCTURE, "with a changed flow"),
            (OUTCOME, "with a changed outcome"),
            (FASTER, "faster"),
        )
        found = [(len(self.of(kind)), words) for kind, words in labels]
        counts = ", ".join(f"{count:,} {words}" for count, words in found if count)
        of = f"of {_many(self.compared, 'test')} in {_many(len(self.before), 'session')} before and {len(self.after):,} after"
        if not self.compared:
            return "the sessions have no test in common"
        if not self.rows:
            but = f"; but {self.functions[0].sentence()}" if self.functions else ""
            return f"no test changed: {of.removeprefix('of ')}{but}"
        first = self.rows[0]
        return f"{counts} {of}; first, {first.name}: {first.sentence()}"

    def certainty(self) -> list[str]:
        """Describe in plain words how certain the result is, and what it leaves out."""
        scatter, lines = self.scatter, []
        if not scatter.tested:
            lines.append(f"no test takes {self.thresholds.floor_ms:g} ms of processor time: it was not compared")
        else:
            typical = float(np.nanmedian(scatter.within))
            vary = f"processor time varies by up to {times(typical)} either way without a change"
            many = _many(scatter.tested, "test")
            if not scatter.learnt:
                lines.append(
                    f"{vary}: an assumption, because {many} cannot measure it; record more sessions of a commit"
                )
            elif not scatter.repeated:
                lines.append(
                    f"{vary}, measured over {many}; each ran once per side: more sessions make this more certain"
                )
            else:
                lines.append(f"{vary}, measured over repeated sessions of {many}")
            before, after = len(self.before), len(self.after)
            if typical > 1 + SMALL and before and after:
                sessions = sessions_needed(typical, SMALL, before, after)
                lines.append(
                    f"a single test that got {percent(SMALL)[1:]} slower cannot be detected; that takes at least {sessions:,} "
                    f"sessions per side, not {before:,} and {after:,}"
                )
            if not 1 / 1.05 < scatter.shared < 1.05:
                lines.append(
                    f"all tests together take {times(scatter.shared)} their earlier processor time, because of the machine or "
                    f"code that all of them use; the results above exclude this factor"
                )
        if self.waits.tested:
            chance = duration(float(np.nanmedian(self.waits.by_chance)))
            lines.append(
                f"waiting of a test or fixture may be {chance} longer without a change (median of {self.waits.tested:,})"
            )
        if self.counted:
            lines.append(f"not compared, because they ran too often for the budget: {_some(self.counted)}")
        if self.only_after:
            lines.append(f"only after: {_some(self.only_after)}")
        if self.only_before:
            lines.append(f"only before: {_some(self.only_before)}")
        return lines

    def explain(self) -> str:
        """Describe in plain words when a difference counts."""
        return self.thresholds.explain()

    def table(self) -> Table:
        """Return a table with one row per change."""
        return table_of(
            self.rows,
            (
                "kind",
                "name",
                "measure",
                "before_ns",
                "after_ns",
                "share",
                "low",
                "high",
                "p",
                "samples_before",
                "samples_after",
            ),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            "explanation": self.explain(),
            "certainty": self.certainty(),
            "thresholds": asdict(self.thresholds),
            "before": list(self.before),
            "after": list(self.after),
            "compared": self.compared,
            "onlyBefore": list(self.only_before),
            "onlyAfter": list(self.only_after),
            "shared": self.scatter.shared,
            "responsible": [asdict(row) for row in self.responsible],
            "functions": [{**asdict(row), "sentence": row.sentence()} for row in self.functions],
            "changes": [
                {**asdict(row), "subject": row.subject._asdict(), "name": row.name, "sentence": row.sentence()}
                for row in self.rows
            ],
        }


def percent(share: float) -> str:
    """Format a relative change: +20 %, −5 %, or 12x for a large factor."""
    return f"{times(1 + share)}" if share >= 4 else f"{share:+.0%}".replace("%", " %").replace("-", "−")


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _more(count: int) -> str:
    return f"; and {count:,} more" if count > 0 else ""


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED:,} more' if len(names) > NAMED else ''}"
