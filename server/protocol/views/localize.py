"""Suspects: ranked reasons for the differences between some runs' requests, each with its evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class LocalizeThresholds:
    """The weights of the evidence; `LocalizeResult.explanation` describes them."""

    time: float = 2.0
    """Bits that a doubling of time counts."""
    half: float = 3.0
    """The certain difference between the two sides, in bits, at which a difference is trusted by half."""
    floor: float = 0.05
    """Growth is measured against a place's own time and this share of the whole request's."""
    pieces: int = 4
    """Maximum pieces of evidence of time, and of behaviour, per suspect."""
    most: int = 10_000
    """Maximum number of requests that are read on each side."""
    least: float = 0.05
    """Bits below which a place is not a suspect."""
    alpha: float = 0.75
    """Without a reference: the share of requests in major clusters."""
    variance: float = 0.95
    """Without a reference: the share of variance that is usual."""
    confidence: float = 0.999
    """Without a reference: the confidence of the threshold beyond which a request is anomalous."""


@dataclass(frozen=True)
class LocalizeParams:
    suspect: list[str]
    """Runs by id, name or folder."""
    reference: list[str] = field(default_factory=list)
    """Empty: the anomalous requests of the suspect runs are compared with the others."""
    request: str = ""
    """Only requests of this name."""
    maxSuspects: int = 20
    thresholds: LocalizeThresholds = field(default_factory=LocalizeThresholds)


@dataclass(frozen=True)
class LocalizeEvidence:
    kind: Literal["work", "waiting", "edge", "instance", "call", "error", "log"]
    bits: float
    """The approximate contribution of this piece to the suspect's score."""
    sentence: str
    service: str
    method: str
    caller: str
    """The caller; "" at a root."""
    instance: str
    text: str
    """A log's message, or the call that is new or missing."""
    before: float | None
    """ns for work, waiting, edge and instance, else the share of visits; null if unknown."""
    after: float | None
    samplesBefore: int
    """Number of requests."""
    samplesAfter: int
    p: float | None
    """Corrected for the number of pieces."""
    run: str
    """The run of the example."""
    event: int | None
    """The first event of the example, for a slice; null without an example."""
    fromNs: float | None
    """The start of the example in its run."""
    toNs: float | None
    """The end of the example, for the timeline; null without an example."""
    location: Location | None = None


@dataclass(frozen=True)
class LocalizeSuspect:
    rank: int
    place: str
    """The suspect: a service, or a function if there is only one service."""
    score: float
    """The score in bits."""
    kind: Literal["method", "edge", "instance", "log"]
    """The subject of the strongest evidence."""
    sentence: str
    service: str
    method: str
    caller: str
    instance: str
    """"" unless one instance is slower than the others."""
    sinceNs: int | None
    """The time, after the first suspect request, from which on there is clearly more evidence than overall; null for
    all along."""
    evidence: list[LocalizeEvidence]
    location: Location | None = None


@dataclass(frozen=True)
class LocalizeCluster:
    """Requests with one sequence of calls, if there is no reference."""

    requests: int
    calls: int
    merged: int
    """Number of requests with another, rarer sequence."""
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
    """The clusters, the largest first."""
    hiddenClusters: int
    message: str = ""
    """A sentence if there is nothing to compare, with a remedy."""


METHODS = {
    "clew/localize": Method(LocalizeParams, LocalizeResult, "views.localize:localize_runs"),
}
