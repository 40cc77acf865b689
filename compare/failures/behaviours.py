"""Describe what each function did in a test: what it called, in which order, whether nothing, and whether an exception left it.

A wrong branch seldom changes which functions run, but it changes what its function does next. Invariant: a behaviour belongs to
one function, and a test has it if at least one call of the function in the test had it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from clew.graph.ops.flows.flows import Flows

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Kind = Literal["call", "order", "leaf", "raise"]

KINDS: tuple[Kind, ...] = ("call", "order", "leaf", "raise")
LONGEST = 30
"""The most calls of a sequence that are compared."""


@dataclass(frozen=True, eq=False)
class Behaviours:
    """The behaviours as columns, and which test has which."""

    function: I64
    kind: I64
    """An index into `KINDS`."""
    callee: I64
    """For "call", the label of the called function; else -1."""
    pairs: I64
    """Which test has which behaviour: two columns, each pair once."""


def behaviours_of(flows: Flows, function: I64, outside: Mask, owner: I64, above: I64) -> Behaviours:
    """Return the behaviours of some functions.

    Each array has an entry for each call of the flows: its function (-1 for none), whether it is no part of a test, its test,
    and its caller (-1 for none).
    """
    mine = np.flatnonzero(function >= 0)
    kids = np.flatnonzero((above >= 0) & ~outside)
    kids = kids[function[above[kids]] >= 0]
    kids = kids[np.lexsort((flows.begin_ns[kids], above[kids]))]
    caller, label = above[kids], flows.label[kids].astype(np.int64)
    # Repeated calls of a loop count once.
    fresh = np.ones(len(kids), bool)
    fresh[1:] = (caller[1:] != caller[:-1]) | (label[1:] != label[:-1])
    order, callers = _orders(caller[fresh], label[fresh])
    leaves = mine[~np.isin(mine, callers)]
    raised = mine[flows.failed[mine]]
    call = np.concatenate((caller, callers, leaves, raised))
    kind = np.repeat(np.arange(len(KINDS)), [len(caller), len(callers), len(leaves), len(raised)])
    value = np.concatenate((label.astype(np.uint64), order, np.zeros(len(leaves) + len(raised), np.uint64)))
    _, first, number = np.unique(
        _mixed(value, function[call] * len(KINDS) + kind), return_index=True, return_inverse=True
    )
    pairs = np.unique(owner[call] * max(len(first), 1) + number.reshape(-1))
    callee = np.full(len(call), -1, np.int64)
    callee[: len(label)] = label
    return Behaviours(
        function[call[first]],
        kind[first],
        callee[first],
        np.stack(np.divmod(pairs, max(len(first), 1)), axis=1).astype(np.int64),
    )


def _orders(caller: I64, label: I64) -> tuple[U64, I64]:
    """Return a hash of the labels in the order of the calls, and the caller, for each of the callers."""
    callers, first, size = np.unique(caller, return_index=True, return_counts=True)
    place = np.arange(len(caller)) - np.repeat(first, size)
    hashes = np.where(place < LONGEST, _mixed(label.astype(np.uint64), place), np.uint64(0))
    if not len(callers):
        return np.zeros(0, np.uint64), callers
    return np.add.reduceat(hashes, first), callers


def _mixed(value: U64, salt: I64) -> U64:
    """Return a hash of two numbers (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = value * np.uint64(0x9E3779B97F4A7C15) + salt.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found: U64 = mixed ^ (mixed >> np.uint64(31))
    return found
