"""What a comparison of test sessions answers: which tests' flow or time changed, by which functions, and how sure that is.

Invariant: what is said to differ says of how many sessions, by how much, and how surely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clew.compare.functions import FunctionChange
from clew.compare.responsible import CallChange, Responsible
from clew.compare.scatter import Scatter, sessions_needed
from clew.compare.shown import Shown
from clew.compare.thresholds import Bounded, bounded, fraction
from clew.compare.units import Subject
from clew.compare.waits import Waits
from clew.graph.columns import Table, table_of
from clew.graph.ops.diff import duration, times

SLOWER, FASTER, STRUCTURE, OUTCOME = "slower", "faster", "structure", "outcome"
PROCESSOR, WAITING = "processor time", "waiting"
"""What is measured of a test: of all threads of its process, and how long it took beyond that."""
NAMED = 5
SMALL = 0.2
"""A change that is worth knowing of; where it cannot be told, how many sessions would tell it is said."""


@dataclass(frozen=True)
class Thresholds(Bounded):
    """When a test counts as changed. `explain()` says it in plain words."""

    alpha: float = fraction(0.05)
    """The share of the tests named slower or faster that may be so by chance, after correction for as many as there are."""
    change: float = bounded(0.1)
    """A test is slower or faster when its processor time changed by at least this share of it …"""
    floor_ms: float = bounded(1.0)
    """… and by at least so many milliseconds; what takes less is not compared."""
    wait_ms: float = bounded(10.0)
    """It is slower, too, when it waits longer by at least so many milliseconds and `change` of all it takes …"""
    margin: float = bounded(3.0)
    """… and by so many times what may be chance: what such tests' waiting varied without a change, or a quarter of it."""

    def explain(self) -> str:
        return (
            f"A test is slower or faster when its processor time, fixtures apart, changed by at least {self.change:.0%} and "
            f"{self.floor_ms:g} ms, and by more than such times scatter, with at most {self.alpha:.0%} of what is named being "
            f"chance (Benjamini-Hochberg); what all tests have in common is taken out first. It is slower, too, when it "
            f"waits longer by at least {self.wait_ms:g} ms, and by {self.margin:g} times what may be chance: the most that "
            f"the waiting of tests of its length varied without a change, or a quarter of it. Its flow changed when a "
            f"function is called, in the same chain of callers, more or less often than in any session before. A function "
            f"changed when its calls' own time did so, at the median of all tests that call it."
        )


@dataclass(frozen=True)
class TestChange:
    """One way in which a test, its fixtures or a shared fixture changed. Times in ns."""

    kind: str
    """"slower", "faster", "structure" or "outcome"."""
    subject: Subject
    samples_before: int
    samples_after: int
    measure: str = ""
    """Of one that is slower or faster: "processor time" or "waiting"."""
    before_ns: float | None = None
    """Of processor times geometric means, that after without what all tests have in common; of waiting medians."""
    after_ns: float | None = None
    share: float | None = None
    """The effect size: what it takes more, as a share of what it took; less than 0 for what is faster."""
    low: float | None = None
    high: float | None = None
    """Of processor time, the bounds that the share lies in, at 95 %."""
    by_chance_ns: float | None = None
    """Of waiting, how much longer it may be without a change."""
    p: float | None = None
    """Of processor time, corrected for the number of tests compared."""
    functions: tuple[Responsible, ...] = ()
    """Of a test that is slower or faster: whose own time changed, the most first."""
    calls: tuple[CallChange, ...] = ()
    """Of one whose flow changed."""
    was: str = ""
    """Of one that ended otherwise: how before,"""
    now: str = ""
    """and how after."""

    @property
    def name(self) -> str:
        return str(self.subject)

    def sentence(self) -> str:
        if self.kind == OUTCOME:
            return f"{self.was} before, {self.now} now"
        if self.kind == STRUCTURE:
            said = list(dict.fromkeys(change.sentence() for change in self.calls))
            return "; ".join(said[:3]) + _more(len(said) - 3)
        return self.figures() + (f": {self.functions[0].sentence()}" if self.functions else "")

    def figures(self) -> str:
        """Of one that is slower or faster."""
        assert self.before_ns is not None and self.after_ns is not None and self.share is not None
        text = f"{duration(self.before_ns)} -> {duration(self.after_ns)} of {self.measure}"
        if self.measure == WAITING:
            return f"{text} ({duration(self.by_chance_ns or 0)} more may be chance)"
        assert self.low is not None and self.high is not None and self.p is not None
        return f"{text} ({percent(self.share)}, between {percent(self.low)} and {percent(self.high)}; p = {self.p:.2g})"


@dataclass(frozen=True, repr=False)
class Suites(Shown):
    """The comparison of some sessions with others."""

    rows: tuple[TestChange, ...]
    """Slower ones by the time that they cost, then changed flows, other outcomes, faster ones."""
    thresholds: Thresholds
    before: tuple[str, ...]
    """Ids of the sessions."""
    after: tuple[str, ...]
    compared: int
    """Tests that are on both sides."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    scatter: Scatter
    """Of processor times."""
    waits: Waits
    counted: tuple[str, ...]
    """Functions that are left out: they ran too often for the budget."""
    responsible: tuple[Responsible, ...]
    """Of all tests that are slower together."""
    functions: tuple[FunctionChange, ...]
    """Slower or faster in all tests that call them, also where no test is by itself; what costs most first."""

    def of(self, *kinds: str) -> tuple[TestChange, ...]:
        return tuple(row for row in self.rows if row.kind in kinds)

    def sentence(self) -> str:
        said = (
            (SLOWER, "slower"),
            (STRUCTURE, "with another flow"),
            (OUTCOME, "with another outcome"),
            (FASTER, "faster"),
        )
        found = [(len(self.of(kind)), words) for kind, words in said]
        counts = ", ".join(f"{count:,} {words}" for count, words in found if count)
        of = f"of {_many(self.compared, 'test')} in {_many(len(self.before), 'session')} before and {len(self.after):,} after"
        if not self.compared:
            return "there is no test in common"
        if not self.rows:
            but = f"; but {self.functions[0].sentence()}" if self.functions else ""
            return f"no test changed: {of.removeprefix('of ')}{but}"
        first = self.rows[0]
        return f"{counts} {of}; first, {first.name}: {first.sentence()}"

    def certainty(self) -> list[str]:
        """In plain words, how sure this is, and what was left out."""
        scatter, lines = self.scatter, []
        if not scatter.tested:
            lines.append(f"no test takes {self.thresholds.floor_ms:g} ms of processor time: it was not compared")
        else:
            typical = float(np.nanmedian(scatter.within))
            vary = f"processor time varies by chance up to {times(typical)} either way"
            many = _many(scatter.tested, "test")
            if not scatter.learnt:
                lines.append(f"of {many}, too few to learn it, it is taken that {vary}; more sessions of a commit tell")
            elif not scatter.repeated:
                lines.append(f"{vary}, as {many} tell together; each ran once a side: more sessions make this surer")
            else:
                lines.append(f"{vary}, as repeated sessions of {many} tell together")
            before, after = len(self.before), len(self.after)
            if typical > 1 + SMALL and before and after:
                sessions = sessions_needed(typical, SMALL, before, after)
                lines.append(
                    f"so whether a single test got {percent(SMALL)[1:]} slower cannot be told; that takes {sessions:,} "
                    f"sessions a side at least, not {before:,} and {after:,}"
                )
            if not 1 / 1.05 < scatter.shared < 1.05:
                lines.append(
                    f"all tests together take {times(scatter.shared)} the processor time they took: the machine, or something "
                    f"that all of them use; this is taken out above"
                )
        if self.waits.tested:
            chance = duration(float(np.nanmedian(self.waits.by_chance)))
            lines.append(
                f"waiting of a test or fixture may be {chance} longer by chance, at the median of {self.waits.tested:,}"
            )
        if self.counted:
            lines.append(f"left out, as they ran too often for the budget: {_some(self.counted)}")
        if self.only_after:
            lines.append(f"only after: {_some(self.only_after)}")
        if self.only_before:
            lines.append(f"only before: {_some(self.only_before)}")
        return lines

    def explain(self) -> str:
        """In plain words, when a difference counts."""
        return self.thresholds.explain()

    def table(self) -> Table:
        """A row per change."""
        return table_of(
            self.rows,
            (
                "kind",
                "name",
                "measure",
                "before_ns",
                "after_ns",
                "ratio",
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
    """Of a change: +20 %, −5 %, and for what is many times as much, 12x."""
    return f"{times(1 + share)}" if share >= 4 else f"{share:+.0%}".replace("%", " %").replace("-", "−")


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _more(count: int) -> str:
    return f"; and {count:,} more" if count > 0 else ""


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED:,} more' if len(names) > NAMED else ''}"
