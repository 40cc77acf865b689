"""Group the changes of requests by their cause: one function that works longer, waits longer or is called more often.

A call that starts later, because the queue before it is longer, is a *victim*: somebody else takes the time. Invariant: a
victim is never before a cause that is known, and an improvement never before a slowdown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from clew.graph.ops.diff import duration

if TYPE_CHECKING:
    from clew.compare.requests.diff import Mutation

How = Literal["work", "waiting", "queueing", "turns", "calls", "flow"]
"""What changed: the work of a function, its waiting, the queue before it, the event loop's other work, the calls of a flow,
or nothing of these that is known."""
NAMED = 3


@dataclass(frozen=True)
class Cause:
    """The changes that share a cause."""

    label: str
    """The function; "" if none is known."""
    how: How
    rows: tuple[Mutation, ...]
    """The changes, the largest first."""

    @property
    def cost_ns(self) -> float:
        return sum(row.cost_ns for row in self.rows)

    @property
    def first(self) -> Mutation:
        return self.rows[0]

    @property
    def is_victim(self) -> bool:
        return self.how in ("queueing", "turns")

    @property
    def names(self) -> str:
        """Return the names of the requests, with the number of flows of each: "read, write (3 flows)"."""
        counts: dict[str, int] = {}
        for row in self.rows:
            counts[row.name] = counts.get(row.name, 0) + 1
        named = [name if many == 1 else f"{name} ({many} flows)" for name, many in counts.items()]
        more = f" and {len(named) - NAMED:,} more" if len(named) > NAMED else ""
        return f"{', '.join(named[:NAMED])}{more}"

    def sentence(self) -> str:
        if len(self.rows) == 1:
            return self.first.sentence()
        sign = "+" if self.cost_ns >= 0 else "−"
        cost = f"{sign}{duration(abs(self.cost_ns))} in total"
        return f"{self.what()} in {self.names}, {cost}; the largest change, {self.first.sentence()}"

    def what(self) -> str:
        """Return the common cause in words."""
        less = self.first.cost_ns < 0
        if self.how == "turns":
            return f"the event loop ran other requests for {'less' if less else 'more'} time"
        if self.how == "calls":
            return f"{self.label} is called in another number"
        words = {"work": "works", "waiting": "waits", "queueing": "starts"}
        if self.how == "queueing":
            return f"{self.label} starts {'earlier' if less else 'later'}"
        return f"{self.label} {words[self.how]} {'less' if less else 'longer'}"

    def to_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "how": self.how,
            "cost_ns": self.cost_ns,
            "categories": [row.category for row in self.rows],
            "sentence": self.sentence(),
        }


def causes(rows: Iterable[Mutation]) -> tuple[Cause, ...]:
    """Group changes by their cause: slowdowns before improvements, causes before victims, then by cost."""
    found: dict[tuple[object, ...], list[Mutation]] = {}
    for row in rows:
        found.setdefault((*_cause(row), row.cost_ns < 0), []).append(row)
    made = [
        Cause(str(label), how, tuple(sorted(of, key=lambda row: (-abs(row.cost_ns), row.category, row.kind))))  # type: ignore[arg-type]
        for (label, how, *_), of in found.items()
    ]
    return tuple(
        sorted(
            made,
            key=lambda cause: (
                cause.cost_ns < 0, cause.is_victim, -abs(cause.cost_ns), cause.first.category, cause.first.kind,
            ),
        )
    )  # fmt: skip


def _cause(row: Mutation) -> tuple[object, ...]:
    """Return the label and the way of the cause, and what else distinguishes it."""
    if row.kind == "structural":
        pairs = [pair for precursor in row.precursors[:1] for pair in (*precursor.added[:1], *precursor.removed[:1])]
        return (pairs[0][1], "calls", bool(row.precursors[0].added)) if pairs else ("", "flow", row.category)
    if row.edges:
        return row.edges[0].target, row.edges[0].how
    return ("", "turns") if row.turns_ns else ("", "flow", row.category)
