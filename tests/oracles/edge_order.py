"""Reference implementation of the order of edges in numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.model.edge_order import U32, Joined


def by_columns(
    edges: Joined, region: U32, regions: int, ext: npt.NDArray[np.int32], channel: U32
) -> tuple[Joined, U32]:
    """Return the result of `edge_order.arranged`."""
    order = np.lexsort((edges.dst, edges.src, region[edges.src]))
    to = Joined(edges.src[order], edges.dst[order], edges.kind[order])
    of_ext = np.append(channel, np.uint32(0))
    name = of_ext[ext[to.dst]]
    return to, np.where(name == 0, of_ext[ext[to.src]], name)
