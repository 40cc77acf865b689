"""Finds repetitions, in C (`csrc/`).

Arrays are as wide as said here; bytes come back of as wide numbers. What does not fit raises ValueError.
"""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]

def infer(sequence: Array, /) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """Of symbols, 32 bits and 0 or above, the grammar: `first`, `symbol` (32 bits), `exponent`, `start`, `length`, see
    `clew.compare.patterns.sequitur.Grammar`."""

def activations(
    start: int, kind: Array, call: Array, wide: bool, ts: Array, idle: Array, /
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes]:
    """Of a strand whose first row is `start`, by row: the kind (8 bits), the row of the call's ENTER (-1 for none; 64 bits
    where `wide`, else 32), the time, and whether the time up to the next row is idle. Per activation, in preorder: the one
    around it (32 bits, -1 for none), how many are in it (32 bits), the way (8 bits), first and last row, and its own time."""

def shapes(what: Array, size: Array, /) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """Of nodes in preorder, with what each is and how many are in it (32 bits): the shape of each (32 bits), and its place in
    the list of its parent's shape (-1 for none); per shape what it is (32 bits), where its list begins, and all lists (32
    bits)."""
