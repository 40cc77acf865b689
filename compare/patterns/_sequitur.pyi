"""Find repetitions, in C (`csrc/`).

Arrays have the widths given here; returned bytes contain numbers of the same widths. Invalid arrays raise ValueError.
"""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]

def infer(sequence: Array, /) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """Return the grammar of symbols (32 bits, 0 or above): `first`, `symbol` (32 bits), `exponent`, `start`, `length`; see
    `clew.compare.patterns.sequitur.Grammar`."""

def activations(
    start: int, kind: Array, call: Array, wide: bool, ts: Array, idle: Array, /
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes]:
    """Return the activations of a strand whose first row is `start`.

    Per row: the kind (8 bits), the row of the call's ENTER (-1 for none; 64 bits if `wide`, else 32), the time, and
    whether the time up to the next row is idle. Per activation, in preorder: the enclosing activation (32 bits, -1 for
    none), the number of activations in it (32 bits), the way (8 bits), first and last row, and its own time.
    """

def shapes(what: Array, size: Array, /) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """Return the shapes of nodes in preorder, given what each is and how many nodes are in it (32 bits).

    Per node: its shape (32 bits), and its place in the list of its parent's shape (-1 for none). Per shape: what it is (32
    bits), and where its list begins. Then all lists (32 bits).
    """
