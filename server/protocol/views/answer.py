"""The answer to *why*: a verdict with its evidence and a few steps. It is part of the answers of several requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location
from clew.server.protocol.views.value import Omitted, ValueAnswer


@dataclass(frozen=True)
class VerdictSentence:
    """One sentence, and the numbers of the events that prove it."""

    text: str
    events: list[int]


@dataclass(frozen=True)
class ReasonStep:
    """One step back from the event, at a line of the program."""

    event: int
    title: str
    reason: Literal["", "data", "resource", "control", "call", "scheduling"]
    """How the step before depends on this one; "" for the event itself."""
    group: str
    """The request, task or thread that it belongs to, as a heading."""
    timeNs: float
    """The time since the run's start."""
    location: Location | None = None
    folded: int = 0
    """The number of omitted steps inside libraries between this step and the one before."""
    clock: str = ""
    """The clock correction between its machine and that of the step before, "" on one machine."""
    missing: list[str] = field(default_factory=list)
    """Sentences about missing events between this step and the next one, which is earlier."""


@dataclass(frozen=True)
class OtherFinding:
    """Another cause that was found in the run and may concern the event."""

    diagnosis: str
    text: str
    certainty: Literal["recorded", "inferred"]
    events: list[int]


@dataclass(frozen=True)
class TestSuspect:
    """A function that may have made a test fail."""

    function: str
    """`module:qualname`."""
    title: str
    """The function's name for a line of text."""
    evidence: list[str]
    """Phrases, the strongest first."""
    location: Location | None = None
    """The line to look at first: the most telling one, else the one in the traceback, else the first of the function."""


@dataclass(frozen=True)
class SuspectedLine:
    """A line that may have made a test fail."""

    location: Location
    title: str
    """Its function's name for a line of text."""
    source: str
    """The line's text; "" if it cannot be read."""
    evidence: str
    """In how many compared tests it ran."""


@dataclass(frozen=True)
class FailedTest:
    """Why a test failed: its exception, and the functions of the program that may have made it fail."""

    test: str
    """The id of the test."""
    outcome: str
    """"failed", "failed at setup" or "failed at teardown"."""
    exception: str
    """Its type and message; "" if it was not recorded."""
    suspects: list[TestSuspect]
    """The likeliest first."""
    sure: str
    """How sure the list is, as a sentence."""
    location: Location | None = None
    """The line of the test, or of its fixture, that failed."""
    raised: Location | None = None
    """The line of the program, or of the test, where the exception was raised; libraries are skipped."""
    moreSuspects: int = 0
    """The number of omitted suspects."""
    limits: list[str] = field(default_factory=list)
    """Sentences about what the list may miss."""
    lines: list[SuspectedLine] = field(default_factory=list)
    """The likeliest lines, the likeliest first; only after a second look."""
    unreached: list[Omitted] = field(default_factory=list)
    """What similar tests that passed ran and the failed test did not; only after a second look."""
    value: ValueAnswer | None = None
    """How the values of the failure came about; None without a second look."""
    noValue: str = ""
    """Why there is no second look, or why it tells no value; "" if it does, or was not asked for."""


@dataclass(frozen=True)
class Verdict:
    """Why an event happened."""

    event: int
    title: str
    sentences: list[VerdictSentence]
    """One to three sentences."""
    certainty: Literal["recorded", "inferred", "unknown"]
    sure: str
    """How sure the verdict is, as a sentence."""
    basis: str = ""
    """For an inferred verdict, what it was inferred from; for an unknown verdict, what was not recorded."""
    remedy: str = ""
    """For an unknown verdict, a command that records what is missing; else ""."""
    diagnosis: str = ""
    """The diagnosis that found the cause; "" if the verdict tells the nearest reason."""
    steps: list[ReasonStep] = field(default_factory=list)
    """At most twelve steps, the nearest first."""
    moreSteps: int = 0
    """The number of omitted steps."""
    others: list[OtherFinding] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    """Sentences about what clew does not follow and the answer therefore may miss; shown before the verdict."""
    failedTest: FailedTest | None = None
    """The failed test that the event belongs to, if the question was about one."""
    write: int | None = None
    """The write of a state that the verdict names, whose history the panel shows; null if it names none."""
    markdown: str = ""
    """The whole answer for a ticket."""


@dataclass(frozen=True)
class ErrorCause:
    """Errors with one cause."""

    count: int
    answered: int
    """How many of the errors were each traced to the cause; the others have the same message or the same exception."""
    firstNs: float
    """The time of the first error since the run's start."""
    lastNs: float
    event: int
    """The newest error."""
    verdict: Verdict
    """The verdict of the newest error."""


@dataclass(frozen=True)
class ErrorCauses:
    """The errors of a run by cause."""

    title: str
    causes: list[ErrorCause]
    """The most frequent first."""
    omitted: int = 0
    """The number of errors with rare messages that were not answered."""
