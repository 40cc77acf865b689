"""Put flows in depth-first order: children sorted by name, equal names by shape, then by when they began. If the causal order
counts (`call_order.py`), children that ran one after the other are in that order; those in parallel are sorted by name.

A shape is a hash of a frame's name and its children's shapes. Flows of one shape have the same names in the same
places.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _ingest as kernels
from clew.graph.model.graph import I64
from clew.graph.ops.flows.call_order import Order

I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]

LEFT_OUT = -2
"""The parent of a frame that is in no flow."""


class Ordered(NamedTuple):
    first: I64
    """The offsets of the flows: flow i has the places `first[i]` up to `first[i + 1]`."""
    shape: U64
    """The shape of each flow."""
    frame: I32
    """The frame of each place."""
    parent: I32
    """For each place its parent's place, counted from the flow's first; -1 at the root."""
    again: I32
    """The frames that are repeats, if repeats are coalesced."""
    where: I64
    """The shared places of the frames in `again`."""


def _with_order(label: I32, names: Sequence[str], roots: I32, order: Order) -> tuple[I32, list[str]]:
    """Return labels that contain the groups of the calls, numbered by group first, and their names.

    The root of a flow has its plain name, so that a request has the same shape wherever it was made.
    """
    is_root = np.zeros(len(label), np.int64)
    is_root[roots] = 1
    keys, codes = np.unique(np.stack((order.group, label, order.span, is_root)), axis=1, return_inverse=True)
    made = [
        names[of] if root or not (group or span) else f"{names[of]}\0{group}\0{span}"
        for group, of, span, root in keys.T.tolist()
    ]
    return codes.reshape(-1).astype(np.int32), made


def name_hashes(names: Sequence[str]) -> U64:
    digests = (hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in names)
    return np.frombuffer(b"".join(digests), np.uint64)


def order_flows(
    parent: I32,
    label: I32,
    begin: I64,
    names: Sequence[str],
    roots: I32,
    *,
    coalesce: bool,
    order: Order | None = None,
) -> Ordered:
    """Return the flows below some roots, for frames given as columns.

    Labels are numbered in the order of their `names`. With `coalesce`, equal siblings count as one repeated sibling,
    whatever their number. With `order`, children are sorted by their groups, then by name, and the groups are part of the
    shape.
    """
    if order is not None:
        label, names = _with_order(label, names, roots, order)
    name = name_hashes(names)
    first, shape = np.zeros(len(roots) + 1, np.int64), np.empty(len(roots), np.uint64)
    columns = kernels.flows(
        np.ascontiguousarray(parent), np.ascontiguousarray(label), np.ascontiguousarray(begin), name,
        np.ascontiguousarray(roots), coalesce, first, shape,
    )  # fmt: skip
    frame, above, again, where = map(np.frombuffer, columns, (np.int32, np.int32, np.int32, np.int64))
    return Ordered(first, shape, frame, above, again, where)
