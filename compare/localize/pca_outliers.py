"""Which requests of a cluster are anomalous: what the usual ways to vary together leave unexplained (PCA, Mi et al.).

A cluster is a matrix of latencies, requests by calls. Its first principal components, which hold `variance` of what varies, are
how requests usually differ; a request is anomalous if its squared error outside of them passes the threshold Q of Jackson and
Mudholkar. PCA needs at least as many requests as calls, and few components: otherwise the components hold every request, the
errors are nothing, and nothing is anomalous ever. Such clusters say so, and are judged robustly instead: by how many robust
deviations from the cluster's median (of logarithms, as latencies are skewed) a request's calls are slower, summed; a request is
anomalous if its sum lies as far from the median sum as one in 1 / (1 - `confidence`) of a normal distribution, whose width the
sums themselves tell, heavy tails and all. A shrunken covariance would still estimate n^2 numbers from m < n rows; median and
deviation are two per call, and one slow request does not move them. What robust sums call anomalous is so in clusters fit for
PCA, too: a few requests that are slow enough make up most of the variance, and are a component themselves (the published
method is `score > threshold` alone).
Invariant: a split says how it was made and why.
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
"""Components are few if they are at most this part of the calls that vary."""
SMALLEST = 4
"""Requests from which a median and a deviation mean something."""
BINS = 20


@dataclass(frozen=True, eq=False)
class Split:
    cluster: Cluster
    method: Literal["pca", "robust z", "none"]
    why: str
    """In words."""
    components: int
    score: F64
    """Per request of the cluster: squared prediction error, or the sum of robust deviations."""
    threshold: float
    gross: npt.NDArray[np.bool_]
    """Requests so slow that they are a component themselves."""

    @property
    def anomalous(self) -> npt.NDArray[np.bool_]:
        return np.asarray((self.score > self.threshold) | self.gross)


@dataclass(frozen=True, eq=False)
class Residuals:
    flows: Flows
    splits: tuple[Split, ...]

    @cached_property
    def anomalous(self) -> npt.NDArray[np.bool_]:
        """Whether each request is anomalous."""
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
    return Residuals(
        flows,
        tuple(
            split_cluster(cluster, cluster.matrix(flows.total_ns.astype(np.float64)), variance, confidence)
            for cluster in find_clusters(flows, alpha)
        ),
    )


def split_cluster(cluster: Cluster, matrix: F64, variance: float = VARIANCE, confidence: float = CONFIDENCE) -> Split:
    m, n = matrix.shape
    if m < SMALLEST:
        return _none(cluster, f"fewer than {SMALLEST} requests are too few to detect outliers")
    if m < n:
        why = f"PCA needs at least as many requests as calls: there are {m} requests with {n} calls"
        return _robust(cluster, matrix, confidence, why)
    centred = matrix - matrix.mean(0)
    # Squares of singular values are the covariance's eigenvalues, without the loss of squaring the matrix.
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
    """Of the squared prediction error, from the eigenvalues left out (Jackson and Mudholkar)."""
    from scipy.special import ndtri

    one, two, three = (float((values**power).sum()) for power in (1, 2, 3))
    if one <= 0:
        return 0.0
    h = 1 - 2 * one * three / (3 * two**2)
    c = float(ndtri(confidence))
    # c is of the normal distribution of (Q / one)^h, which falls in Q where h is below zero.
    base = (c if h >= 0 else -c) * np.sqrt(2 * two * h**2) / one + 1 + two * h * (h - 1) / one**2
    return float(one * max(base, 0.0) ** (1 / h)) if base > 0 else float("inf")


def _robust(cluster: Cluster, matrix: F64, confidence: float, why: str) -> Split:
    from scipy.special import ndtri

    logs = np.log(np.maximum(matrix, 1.0))
    middle = np.median(logs, axis=0)
    deviation = 1.4826 * np.median(np.abs(logs - middle), axis=0)
    # Some calls nearly always take the same time: for them a change by a tenth is not unusual.
    z = (logs - middle) / np.maximum(deviation, 0.05)
    score = np.maximum(z, 0.0).sum(1)
    centre = float(np.median(score))
    width = 1.4826 * float(np.median(np.abs(score - centre)))
    threshold = centre + float(ndtri(confidence)) * max(width, 1.0)
    why += "; each call was compared with its median instead"
    return Split(cluster, "robust z", why, 0, score, threshold, np.zeros(len(score), bool))


@dataclass(frozen=True)
class RankedMethod:
    label: str
    p: float
    """Two-sided, of the most different call of the label."""
    delta: float
    """Cliff's, of that call."""
    mean_normal_ns: float
    mean_anomalous_ns: float
    samples_normal: int
    samples_anomalous: int


def rank_methods(found: Residuals, column: str = "self_ns") -> tuple[RankedMethod, ...]:
    """By how different their times are in normal and in anomalous requests (Mann and Whitney), the most different first."""
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
    instance: str
    divergence: float
    """Mean Jensen–Shannon divergence (bits, 0 to 1) from the other instances of the same calls."""
    calls: int


def rank_instances(flows: Flows, label: int, column: str = "self_ns", bins: int = BINS) -> tuple[RankedInstance, ...]:
    """Of those that ran calls of a label: by how far their times are from the others'."""
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
    """A row per group, over bins that all share; of logarithms, since latencies are skewed."""
    logs = np.log(np.maximum(values, 1.0))
    low, high = float(logs.min()), float(logs.max())
    at = np.clip(((logs - low) / max(high - low, 1e-9) * bins).astype(np.int64), 0, bins - 1)
    return np.bincount(group * bins + at, minlength=groups * bins).reshape(groups, bins).astype(np.float64)
