"""Clusters of requests and the PCA split: compared with dense linear algebra, scipy, and requests with a planted outlier."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from clew.compare.localize.pca_outliers import (
    find_residuals,
    histograms,
    q_threshold,
    rank_instances,
    rank_methods,
    split_cluster,
)
from clew.compare.localize.request_clusters import Cluster, aligned, find_clusters
from clew.compare.stats.tests import edit_distances
from tests.support.runs.spans import spans_run

I64 = np.int64


def cluster_of(rows, calls):
    return Cluster(np.arange(calls), True, np.arange(rows), np.zeros((rows, calls), I64), 0)


def dense_errors(matrix, variance):
    """Compute the errors from the eigenvectors of the covariance."""
    centred = matrix - matrix.mean(0)
    values, axes = np.linalg.eigh(np.cov(centred.T))
    values, axes = values[::-1], axes[:, ::-1]
    k = int(np.searchsorted(np.cumsum(values) / values.sum(), variance) + 1)
    residual = np.eye(len(values)) - axes[:, :k] @ axes[:, :k].T
    return ((centred @ residual) ** 2).sum(1), values[k:], k


def low_rank(rows, calls, seed, noise=0.05):
    chance = np.random.default_rng(seed)
    return (
        100
        + chance.normal(size=(rows, 2)) @ chance.normal(size=(2, calls)) * 10
        + noise * chance.normal(size=(rows, calls))
    )


@pytest.mark.parametrize("seed", range(5))
def test_split_cluster_errors_and_components_equal_dense_decomposition(seed):
    matrix = low_rank(80, 12, seed)
    split = split_cluster(cluster_of(80, 12), matrix)
    errors, left, k = dense_errors(matrix, 0.95)
    assert split.method == "pca" and split.components == k
    np.testing.assert_allclose(split.score, errors, rtol=1e-6, atol=1e-9)
    assert split.threshold == pytest.approx(q_threshold(np.maximum(left, 0)), rel=1e-6)


def test_split_cluster_one_strange_request_is_anomalous():
    matrix = low_rank(2000, 10, 7)
    matrix[11, 3] += 5
    split = split_cluster(cluster_of(2000, 10), matrix)
    assert split.anomalous[11]
    assert split.anomalous.sum() - 1 < 2000 * 0.01


def test_q_threshold_is_quantile_of_residual_errors():
    values = np.array([4.0, 3.0, 2.5, 1.0, 0.5])
    chance = np.random.default_rng(1)
    errors = (chance.normal(size=(200_000, 5)) ** 2 * values).sum(1)
    assert q_threshold(values, 0.99) == pytest.approx(np.quantile(errors, 0.99), rel=0.05)


def test_split_cluster_fewer_requests_than_calls_uses_robust_z():
    chance = np.random.default_rng(3)
    matrix = np.exp(chance.normal(10, 0.2, (12, 30)))
    matrix[4, 7] *= 50
    split = split_cluster(cluster_of(12, 30), matrix)
    assert split.method == "robust z" and "12 requests with 30 calls" in split.why
    assert np.flatnonzero(split.anomalous).tolist() == [4]


def test_split_cluster_too_many_components_uses_robust_z():
    matrix = np.random.default_rng(5).normal(100, 1, (200, 10))
    split = split_cluster(cluster_of(200, 10), matrix)
    assert split.method == "robust z" and "too many for PCA" in split.why


def test_split_cluster_few_or_equal_requests_have_no_anomaly():
    assert not split_cluster(cluster_of(3, 2), np.eye(3, 2)).anomalous.any()
    assert split_cluster(cluster_of(9, 2), np.ones((9, 2))).method == "none"


@pytest.mark.parametrize("seed", range(20))
def test_aligned_calls_are_equal_in_order_with_fewest_edits(seed):
    chance = np.random.default_rng(seed)
    one, other = (chance.integers(0, 4, chance.integers(1, 12)).astype(I64) for _ in range(2))
    place = aligned(one, other)
    kept = place[place >= 0]
    assert (np.diff(kept) > 0).all()
    assert (one[place >= 0] == other[kept]).all()
    # Between two aligned calls the longer segment counts as edits.
    bounds = [(-1, -1), *zip(np.flatnonzero(place >= 0), kept, strict=True), (len(one), len(other))]
    edits = sum(max(c - a, d - b) - 1 for (a, b), (c, d) in zip(bounds[:-1], bounds[1:], strict=True))
    assert edits == edit_distances(one, [other])[0]


def test_find_clusters_rare_sequence_joins_nearest_frequent_one(tmp_path):
    shapes = [["a", "b"]] * 10 + [["a", "c"]] * 8 + [["a", "b", "x"]] * 2 + [["y"]]
    flows = spans_run(tmp_path, [[("app", name, 1.0, "h") for name in names] for names in shapes]).requests.flows()
    found = find_clusters(flows, alpha=0.75)
    assert [(len(cluster.requests), cluster.major, cluster.merged) for cluster in found] == [
        (12, True, 2), (8, True, 0), (1, False, 0),
    ]  # fmt: skip
    assert sorted(np.concatenate([cluster.requests for cluster in found]).tolist()) == list(range(21))


def test_rank_methods_uses_mann_whitney_and_instances_jensen_shannon(tmp_path):
    chance = np.random.default_rng(2)
    requests = []
    for number in range(60):
        slow = 30.0 if number % 20 == 0 else 1.0
        host = f"h{number % 3}"
        requests.append(
            [("app", "a", chance.normal(5, 0.2), host), ("app", "b", slow * chance.normal(5, 0.2), host),
             ("app", "c", chance.normal(5, 0.2) + 0.5 * (host == "h1"), host)]
        )  # fmt: skip
    flows = spans_run(tmp_path, requests).requests.flows()
    found = find_residuals(flows)
    assert found.anomalous[[0, 20, 40]].all() and found.anomalous.sum() < 10
    ranked = rank_methods(found)
    assert ranked[0].label == "app:b"
    b = flows.self_ns[flows.label == flows.labels.index("app:b")]
    expected = scipy.stats.mannwhitneyu(b[found.anomalous], b[~found.anomalous], method="exact").pvalue
    assert ranked[0].p == pytest.approx(expected)
    instances = rank_instances(flows, flows.labels.index("app:c"))
    assert instances[0].instance == "h1" and instances[0].divergence > 0.3


def test_histograms_share_bins_and_count_every_value():
    values = np.exp(np.random.default_rng(0).normal(size=100) + 9)
    counts = histograms(values, np.arange(100) % 4, 4, bins=10)
    assert counts.shape == (4, 10) and counts.sum() == 100
