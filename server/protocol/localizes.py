"""Where to look: suspects for what is different in some runs' requests, ranked, each with its reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class LocalizeThresholds:
    """What evidence weighs; `LocalizeResult.explanation` says it in words."""

    time: float = 2.0
    """Bits that a doubling of time counts."""
    half: float = 3.0
    """Bits by which two sides must surely differ for a difference to be trusted by half."""
    floor: float = 0.05
    """Growth is measured against a place's own time and this share of the whole request's."""
    pieces: int = 4
    """Pieces of evidence of time, and of behaviour, that a suspect has at most."""
    most: int = 10_000
    """Requests that are looked at on each side."""
    least: float = 0.05
    """Bits below which a place is no suspect."""
    alpha: float = 0.75
    """Without a reference: the share of requests in major clusters,"""
    variance: float = 0.95
    """the share of variance that is usual,"""
    confidence: float = 0.999
    """and of the threshold beyond which a request is anomalous."""


@dataclass(frozen=True)
class LocalizeParams:
    suspect: list[str]
    """Runs by id, name or folder."""
    reference: list[str] = field(default_factory=list)
    """Empty: what is anomalous in the suspect runs is compared with the rest of them."""
    request: str = ""
    """Only requests of this name."""
    maxSuspects: int = 20
    thresholds: LocalizeThresholds = field(default_factory=LocalizeThresholds)


@dataclass(frozen=True)
class LocalizeEvidence:
    kind: Literal["work", "waiting", "edge", "instance", "call", "error", "log"]
    bits: float
    """Of the suspect's score, about those that this piece is the reason for."""
    sentence: str
    service: str
    method: str
    caller: str
    """"" at a root."""
    instance: str
    text: str
    """A log's message, or the call that is new or missing."""
    before: float | None
    """ns for work, waiting, edge and instance, else the share of visits; null where nothing is known."""
    after: float | None
    samplesBefore: int
    """Requests."""
    samplesAfter: int
    p: float | None
    """Corrected for the number of pieces."""
    run: str
    """The example's,"""
    event: int | None
    """and its first event, for a slice; null for no example."""
    fromNs: float | None
    """When it began in its run,"""
    toNs: float | None
    """and ended, for the timeline; null for no example."""
    location: Location | None = None


@dataclass(frozen=True)
class LocalizeSuspect:
    rank: int
    place: str
    """What is suspected: a service, or where there is only one, a function."""
    score: float
    """Bits."""
    kind: Literal["method", "edge", "instance", "log"]
    """What the strongest evidence is of."""
    sentence: str
    service: str
    method: str
    caller: str
    instance: str
    """"" unless one instance is slower than its like."""
    sinceNs: int | None
    """From when on, after the first suspect request, there is clearly more evidence than in all; null for all along."""
    evidence: list[LocalizeEvidence]
    location: Location | None = None


@dataclass(frozen=True)
class LocalizeCluster:
    """Requests with one sequence of calls, when there is no reference."""

    requests: int
    calls: int
    merged: int
    """Requests that have another, rarer sequence."""
    method: Literal["pca", "robust z", "none"]
    why: str
    anomalous: int


@dataclass(frozen=True)
class LocalizeResult:
    suspect: list[RunRef]
    reference: list[RunRef]
    sentence: str
    explanation: str
    """How suspects are ranked, in plain words."""
    thresholds: LocalizeThresholds
    requestsSuspect: int
    requestsReference: int
    suspects: list[LocalizeSuspect]
    hiddenSuspects: int
    clusters: list[LocalizeCluster]
    """The largest first."""
    hiddenClusters: int
    message: str = ""
    """A sentence when there is nothing to compare, with what to do."""
