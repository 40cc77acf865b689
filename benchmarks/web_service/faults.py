"""The faults of the load: what each makes the shop log, and what an answer must name to have named its cause."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A kind of fault. The number of the failing request replaces `{order}` in `line`."""

    name: str
    line: str
    """A regular expression for the ERROR line."""
    names: tuple[str, ...]
    """Regular expressions that must all match the verdict: the planted cause."""

    def order_of(self, line: str) -> int | None:
        """Return the number of the request that wrote a line, None if it is a line of another fault."""
        found = re.search(self.line.replace("{order}", r"(\d+)"), line)
        return int(found[1]) if found else None


FAULTS = (
    Fault("upstream answers 500", r"stock failed for /depots/none-{order}:", ("KeyError: 'none'", "depot_of")),
    Fault("upstream is slow", r"order {order}: stock did not answer", (r"\bcount\b|recount", r"stock\.py")),
    Fault("row is missing", r"order {order}: there is no item", ("NoResultFound", "load_item")),
    Fault("cached value is garbled", r"order {order}: the price of odd-\d+ cannot be read", ("import_price",)),
    Fault("cached value is wrong", r"order {order}: the price of free-\d+ is -5", ("set_price|keep_price",)),
    Fault("pool is held", r"order {order}: no connection for", (r"report \(Task-\d+\) (?:had )?held|render",)),
    Fault("row is locked", r"order {order}: cannot book", (r"check_balance|book \(Task-\d+\) (?:had )?held",)),
)
"""Every kind, in the order in which the load plants them."""
