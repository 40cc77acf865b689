"""Names of requests that became known only after they had begun, as a route does once it is looked up.

Invariant: a NAME is about the innermost request around it in its own strand, and about none where there is none; of several
the last one holds. One that failed names nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import Extensions, RegionKind, Regions
from clew.records.format.event import FLAG_FAILED, Kind

I64 = npt.NDArray[np.int64]


def named(
    kind: npt.NDArray[np.uint8],
    ext: npt.NDArray[np.int32],
    extensions: Extensions,
    region: npt.NDArray[np.uint32],
    regions: Regions,
) -> Extensions:
    """The extensions, in which each request has the last name that it was given."""
    names: I64 = np.flatnonzero(kind == Kind.NAME)
    names = names[ext[names] >= 0]
    names = names[(extensions.channel[ext[names]] != 0) & (extensions.flags[ext[names]] & FLAG_FAILED == 0)]
    requests = np.flatnonzero(kind == Kind.REQUEST)
    requests = requests[ext[requests] >= 0]
    if not len(names) or not len(requests):
        return extensions
    around = _request_around(region[names].astype(np.int64), regions)
    # Of requests that share a region, as two rules make of one call, it is the last one before the name.
    order = np.lexsort((requests, region[requests]))
    requests = requests[order]
    width = np.int64(len(kind))
    places = region[requests] * width + requests
    at = np.searchsorted(places, around * width + names) - 1
    found = (around >= 0) & (at >= 0)
    found &= region[requests[at]] == around
    channel = extensions.channel.copy()
    # In numpy's assignment the last of several for one place holds.
    channel[ext[requests[at[found]]]] = extensions.channel[ext[names[found]]]
    return replace(extensions, channel=channel)


def _request_around(region: I64, regions: Regions) -> I64:
    """Per region the innermost request's that it is, or lies in; -1 for none."""
    region = region.copy()
    while (outside := (region >= 0) & (regions.kind[region] != RegionKind.REQUEST)).any():
        region[outside] = regions.parent[region[outside]]
    return region
