"""Applies names that requests got after they began, e.g. the route after its look-up.

Invariant: a NAME applies to the innermost request around it in its strand, if there is one. The last NAME of a request wins.
A failed NAME is ignored.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import Extensions, RegionKind, Regions
from clew.records.format.event import FLAG_FAILED, Kind

I64 = npt.NDArray[np.int64]


def rename_requests(
    kind: npt.NDArray[np.uint8],
    ext: npt.NDArray[np.int32],
    extensions: Extensions,
    region: npt.NDArray[np.uint32],
    regions: Regions,
) -> Extensions:
    """Return the extensions with each request renamed to its last NAME."""
    names: I64 = np.flatnonzero(kind == Kind.NAME)
    names = names[ext[names] >= 0]
    names = names[(extensions.channel[ext[names]] != 0) & (extensions.flags[ext[names]] & FLAG_FAILED == 0)]
    requests = np.flatnonzero(kind == Kind.REQUEST)
    requests = requests[ext[requests] >= 0]
    if not len(names) or not len(requests):
        return extensions
    around = _request_around(region[names].astype(np.int64), regions)
    # If requests share a region, e.g. because two rules match one call, the last one before the NAME gets it.
    order = np.lexsort((requests, region[requests]))
    requests = requests[order]
    width = np.int64(len(kind))
    places = region[requests] * width + requests
    at = np.searchsorted(places, around * width + names) - 1
    found = (around >= 0) & (at >= 0)
    found &= region[requests[at]] == around
    channel = extensions.channel.copy()
    # When an index occurs several times, numpy assigns its last value.
    channel[ext[requests[at[found]]]] = extensions.channel[ext[names[found]]]
    return replace(extensions, channel=channel)


def _request_around(region: I64, regions: Regions) -> I64:
    """Return, per region, the innermost request region that it is or is nested in, -1 for none."""
    region = region.copy()
    while (outside := (region >= 0) & (regions.kind[region] != RegionKind.REQUEST)).any():
        region[outside] = regions.parent[region[outside]]
    return region
