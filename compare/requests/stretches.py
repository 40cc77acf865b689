"""Divide runs into stretches, to estimate from within how much runs scatter when there is only one per side.

Requests that are close in time are slow together: others use the processor, a cache is cold. A thousand requests of one slow
minute are then not a thousand witnesses. Invariant: requests in random order are not considered dependent, on average.
"""

from __future__ import annotations

import numpy as np

from clew.compare.requests.category_pairs import Pairing
from clew.compare.stats.tests import F64, I64
from clew.graph.ops.flows.flows import Flows

STRETCHES = 10
"""The maximum number of stretches."""
LEAST = 2
"""The minimum number of requests of a stretch."""
ALPHA = 0.05
"""The maximum probability of a scatter between stretches that counts, if requests were independent."""
PRIOR = 10.0
"""The weight of all categories together in the factor of one category, in degrees of freedom."""


def stretch_of(flows: Flows, group: I64) -> I64:
    """Return, per request, the stretch that it is in, 0 up to `STRETCHES` - 1: each group is divided into equal numbers of
    requests, in the order of runs and times."""
    order = np.lexsort((flows.start_ns, flows.run, group))
    size = np.bincount(group)
    first = np.cumsum(size) - size
    of = group[order]
    place = np.arange(len(order)) - first[of]
    parts = np.clip(size // LEAST, 1, STRETCHES)
    found = np.zeros(len(order), np.int64)
    found[order] = place * parts[of] // np.maximum(size[of], 1)
    return found


def dependence(pairing: Pairing) -> F64:
    """Return, per category, by how much the scatter between stretches of its requests exceeds that of independent requests,
    as a factor of the variance; at least 1.

    The factor is that of the side where it is larger: a burst in one run may as well be in the other one. Ranks are compared,
    so a single very slow request does not decide. Categories with few requests have mostly the factor of all categories.
    """
    count = len(pairing.keys)
    found = np.ones(count)
    for flows, category in zip(pairing.sides, pairing.category, strict=True):
        if not len(flows):
            continue
        rank = _ranks(flows.response_ns, category)
        size = np.bincount(category, minlength=count)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(category, rank, count) / size
            variance = np.bincount(category, (rank - mean[category]) ** 2, count) / (size - 1)
        part = category * STRETCHES + stretch_of(flows, category)
        length = np.bincount(part, minlength=count * STRETCHES).reshape(count, STRETCHES)
        sums = np.bincount(part, rank, count * STRETCHES).reshape(count, STRETCHES)
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = np.where(length > 0, length * (sums / length - mean[:, None]) ** 2, 0.0).sum(1)
            known = (variance > 0) & (size > LEAST)
            total = np.where(known, squares / variance, 0.0)
        freedom = np.where(known, np.maximum((length > 0).sum(1) - 1, 0), 0)
        every = _beyond_chance(total.sum(keepdims=True), freedom.sum(keepdims=True))[0]
        shared = (total + PRIOR * every) / (freedom + PRIOR)
        found = np.maximum(found, np.where((every > 1) | (_beyond_chance(total, freedom) > 1), shared, 1.0))
    return found


def _beyond_chance(total: F64, freedom: F64) -> F64:
    """Return sums of squares per degree of freedom; 1.0 where chance may reach as much."""
    from scipy.special import chdtrc

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((freedom > 0) & (chdtrc(freedom, total) < ALPHA), total / freedom, 1.0)


def _ranks(values: I64, group: I64) -> F64:
    """Return the rank of each value in its group; equal values have their mean rank."""
    order = np.lexsort((values, group))
    new = np.ones(len(order), bool)
    new[1:] = (values[order][1:] != values[order][:-1]) | (group[order][1:] != group[order][:-1])
    tie = np.cumsum(new) - 1
    mean = np.bincount(tie, np.arange(len(order))) / np.bincount(tie)
    found = np.zeros(len(order))
    found[order] = mean[tie]
    return found
