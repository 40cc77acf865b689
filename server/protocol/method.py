"""A request of the panel: the types of its parameters and its answer, and the function that answers it."""

from __future__ import annotations

from typing import NamedTuple


class Method(NamedTuple):
    """One method of the protocol."""

    params: type
    result: type
    handler: str
    """`MODULE:FUNCTION` below `clew.server`. The module is imported at the first request: a view loads the graph and its
    libraries, and a server that only lists runs does without them."""
