"""Find the anomalous requests of a cluster: those that its principal components leave unexplained (PCA, Mi et al.).

A cluster is a matrix of latencies, requests by calls. Its first principal components, which explain `variance` of the total
variance, describe how requests usually differ. A request is anomalous if its squared error outside of these components
exceeds the threshold Q of Jackson and Mudholkar.

PCA needs at least as many requests as calls, and few components; otherwise the components explain every request and nothing
is anomalous. Such clusters are reported and judged robustly instead. The score of a request is the sum of the robust
deviations by which its calls are slower than the median of the cluster. Deviations are those of logarithms, because latencies
are skewed. The request is anomalous if its score exceeds the median score by the `confidence` quantile of a normal
distribution; the width of this distribution is the robust deviation of the scores. A shrunken covariance would still estimate
n^2 numbers from m < n rows. Median and deviation are two numbers per call, and one slow request does not move them.

The robust scores also mark requests in clusters that suit PCA: a few very slow requests make up most of the variance and
form a component themselves. (The published method is `score > threshold` alone.) Invariant: a split names its method and
the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.compare.localize.request_clusters import ALPHA, Cluster, find_clusters
from clew.compare.stats.tests import F64, I64, Samples, jensen_shannon, mann_whitney
from clew.graph.ops.flows.flows import Flows

VARIANCE = 0.95
CONFIDENCE = 0.999
LOW_RANK = 0.5
"""The maximum number of components, as a share of the rank of the matrix."""
SMALLEST = 4
"""The minimum number of requests for a meaningful median and deviation."""
BINS = 20


@dataclass(frozen=True, eq=False)
class Split:
    """A cluster split into normal and anomalous requests."""

    cluster: Cluster
    method: Literal["pca", "robust z", "none"]
    why: str
    """The reason for the method, as text."""
    components: int
    score: F64
    """The score of each request of the cluster: its squared prediction error, or its sum of robust deviations."""
    threshold: float
    gross: npt.NDArray[np.bool_]
    """Whether each request is so slow that it forms a component itself."""

    @property
    def anomalous(self) -> npt.NDArray[np.bool_]:
        return np.asarray((self.score > self.threshold) | self.gross)


@dataclass(frozen=True, eq=False)
class Residuals:
    """The splits of all clusters of some requests."""

    flows: Flows
    splits: tuple[Split, ...]

    @cached_property
    def anomalous(self) -> npt.NDArray[np.bool_]:
        """Return whether each request is anomalous."""
        found = np.zeros(len(self.flows), bool)
        for split in self.splits:
            found[split.cluster.requests] = split.anomalous
        return found

    def sentence(self) -> str:
        failed = sum(split.method != "pca" for split in self.splits)
        note = f"; {failed:,} of {len(self.splits):,} clusters were unsuitable for PCA" if failed else ""
        return f"{int(self.anomalous.sum()):,} of {len(self.flows):,} requests are anomalous{note}"


def find_residuals(
    flows: Flows, *, alpha: float = ALPHA, variance: float = VARIANCE, confidence: float = CONFIDENCE
) -> Residuals:
    """Cluster the requests, and split each cluster into normal and anomalous requests."""
    return Residuals(
        flows,
        tuple(
            split_cluster(cluster, cluster.matrix(flows.total_ns.astype(np.float64)), variance, confidence)
            for cluster in find_clusters(flows, alpha)
        ),
    )


def split_cluster(cluster: Cluster, matrix: F64, variance: float = VARIANCE, confidence: float = CONFIDENCE) -> Split:
    """Split a cluster, given its matrix of latencies in ns, by PCA if possible, otherwise robustly."""
    m, n = matrix.shape
    if m < SMALLEST:
        return _none(cluster, f"fewer than {SMALLEST} requests are too few to detect outliers")
    if m < n:
        why = f"PCA needs at least as many requests as calls: there are {m} requests with {n} calls"
        return _robust(cluster, matrix, confidence, why)
    centred = matrix - matrix.mean(0)
    # The squared singular values are the eigenvalues of the covariance, without the precision loss of squaring the matrix.
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    values = singular**2 / (m - 1)
    total = values.sum()
    if total <= 0:
        return _none(cluster, "all requests took equally long")
    k = int(np.searchsorted(np.cumsum(values) / total, variance) + 1)
    rank = int((values > values[0] * 1e-12).sum())
    if k > LOW_RANK * rank:
        why = f"{k} of {rank} components are needed for {variance:.0%} of the variance, too many for PCA"
        return _robust(cluster, matrix, confidence, why)
    errors = centred - (centred @ axes[:k].T) @ axes[:k]
    threshold = q_threshold(values[k:], confidence)
    why = f"{k} of {rank} components explain {variance:.0%} of the variance of {m} requests with {n} calls"
    gross = _robust(cluster, matrix, confidence, "").anomalous
    return Split(cluster, "pca", why, k, (errors**2).sum(1), threshold, gross)


def _none(cluster: Cluster, why: str) -> Split:
    size = len(cluster.requests)
    return Split(cluster, "none", why, 0, np.zeros(size), np.inf, np.zeros(size, bool))


def q_threshold(values: F64, confidence: float = CONFIDENCE) -> float:
    """Return the threshold of the squared prediction error from the eigenvalues left out (Jackson and Mudholkar)."""
    from scipy.special import ndtri

    one, two, three = (float((values**power).sum()) for power in (1, 2, 3))
    if one <= 0:
        return 0.0
    h = 1 - 2 * one * three / (3 * two**2)
    c = float(ndtri(confidence))
    # c is a quantile of the normal distribution of (Q / one)^h, which decreases with Q if h is negative.
    base = (c if h >= 0 else -c) * np.sqrt(2 * two * h**2) / one + 1 + two * h * (h - 1) / one**2
    return float(one * max(base, 0.0) ** (1 / h)) if base > 0 else float("inf")


def _robust(cluster: Cluster, matrix: F64, confidence: float, why: str) -> Split:
    """Split a cluster by the sum of the robust deviations of each request."""
    from scipy.special import ndtri

    logs = np.log(np.maximum(matrix, 1.0))
    middle = np.median(logs, axis=0)
    deviation = 1.4826 * np.median(np.abs(logs - middle), axis=0)
    # The lower bound is for calls of nearly constant time: for them, a change by a tenth is not unusual.
    z = (logs - middle) / np.maximum(deviation, 0.05)
    score = np.maximum(z, 0.0).sum(1)
    centre = float(np.median(score))
    width = 1.4826 * float(np.median(np.abs(score - centre)))
    threshold = centre + float(ndtri(confidence)) * max(width, 1.0)
    why += "; each call was compared with its median instead"
    return Split(cluster, "robust z", why, 0, score, threshold, np.zeros(len(score), bool))


@dataclass(frozen=True)
class RankedMethod:
    """A method, and how much its times differ between normal and anomalous requests."""

    label: str
    p: float
    """The two-sided probability of the most different call of the label."""
    delta: float
    """Cliff's delta of that call."""
    mean_normal_ns: float
    mean_anomalous_ns: float
    samples_normal: int
    samples_anomalous: int


def rank_methods(found: Residuals, column: str = "self_ns") -> tuple[RankedMethod, ...]:
    """Rank methods by the difference of their times between normal and anomalous requests (Mann and Whitney), largest
    first."""
    best: dict[str, RankedMethod] = {}
    flows = found.flows
    for split in found.splits:
        odd = split.anomalous
        if not odd.any() or odd.all():
            continue
        matrix = split.cluster.matrix(getattr(flows, column).astype(np.float64))
        parts = [_by_column(matrix[~odd]), _by_column(matrix[odd])]
        ranked = mann_whitney(parts[0], parts[1])
        for place, label in enumerate(split.cluster.sequence.tolist()):
            name = flows.labels[label]
            here = RankedMethod(
                name, float(ranked.p[place]), float(ranked.delta[place]), float(parts[0].of(place).mean()),
                float(parts[1].of(place).mean()), int((~odd).sum()), int(odd.sum()),
            )  # fmt: skip
            if name not in best or here.p < best[name].p:
                best[name] = here
    return tuple(sorted(best.values(), key=lambda method: (method.p, -abs(method.delta), method.label)))


def _by_column(matrix: F64) -> Samples:
    rows, width = matrix.shape
    return Samples(matrix.T.ravel(), np.arange(width + 1) * rows)


@dataclass(frozen=True)
class RankedInstance:
    """An instance, and how much its times differ from those of the other instances."""

    instance: str
    divergence: float
    """Mean Jensen–Shannon divergence (bits, 0 to 1) from the other instances of the same calls."""
    calls: int


def rank_instances(flows: Flows, label: int, column: str = "self_ns", bins: int = BINS) -> tuple[RankedInstance, ...]:
    """Rank the instances that ran calls of a label by the divergence of their times from those of the other instances."""
    calls = np.flatnonzero(flows.label == label)
    instance, values = flows.instance[calls].astype(np.int64), getattr(flows, column)[calls].astype(np.float64)
    names = np.unique(instance)
    if len(names) < 2:
        return tuple(RankedInstance(flows.instances[name], 0.0, len(calls)) for name in names.tolist())
    counts = histograms(values, np.searchsorted(names, instance), len(names), bins)
    ranked = []
    for number, name in enumerate(names.tolist()):
        others = np.delete(counts, number, axis=0)
        apart = jensen_shannon(np.broadcast_to(counts[number], others.shape), others)
        ranked.append(RankedInstance(flows.instances[name], float(apart.mean()), int(counts[number].sum())))
    return tuple(sorted(ranked, key=lambda instance: (-instance.divergence, instance.instance)))


def histograms(values: F64, group: I64, groups: int, bins: int = BINS) -> F64:
    """Return a histogram per group as a row, over common bins of logarithms, because latencies are skewed."""
    logs = np.log(np.maximum(values, 1.0))
    low, high = float(logs.min()), float(logs.max())
    at = np.clip(((logs - low) / max(high - low, 1e-9) * bins).astype(np.int64), 0, bins - 1)
    return np.bincount(group * bins + at, minlength=groups * bins).reshape(groups, bins).astype(np.float64)
