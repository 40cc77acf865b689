"""Name what made a task or callback cancel another one: the exception that it handled, or a peer that left.

That a peer had left is recorded if edges lead from the read that saw it to the cancellation. It is inferred if the canceller's
work only came from that connection.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.diagnoses.words import exception, offset, where, who
from clew.graph.ops.facts.connection_ends import ConnectionEnds, PeerLeft
from clew.graph.ops.facts.facts import Fact, Facts
from clew.graph.ops.facts.scopes import origin_of
from clew.records.format.facts import Cancel, Exception_

INFERRED_FROM = "the connection that the canceller's work came from: its other end was closed before"
_CANCELLED = "CancelledError"
_BEFORE = "before that, "


@dataclass(frozen=True)
class Led:
    """What came just before a cancellation."""

    text: str
    """A sentence without its full stop."""
    events: tuple[int, ...]
    certain: bool
    """Whether records lead from the events to the cancellation."""

    @property
    def sentence(self) -> str:
        """The text as a sentence of its own."""
        return f"B{self.text[1:]}" if self.text.startswith(_BEFORE) else self.text


def what_led(facts: Facts, cancel: Fact[Cancel]) -> Led | None:
    """Return what made somebody ask for a cancellation, None if nothing unusual was recorded before it."""
    origin = origin_of(facts, cancel)
    if cancel.text.deadline or origin.text.deadline:
        return None
    got = _handled(facts, origin)
    left = ConnectionEnds.of(facts.graph).peer_left(origin.row)
    if got is None and left is None:
        return None
    asker = who(facts, origin.strand)
    closed = peer_text(facts, left) if left else ""
    if got is None:
        assert left
        return Led(f"{_BEFORE}{closed}", peer_events(left), left.led_here)
    in_place = f", raised in {where(got.text.at, facts)}" if got.text.at else ""
    text = f"{asker} did so while handling {exception(got)}{in_place}"
    if left:
        return Led(f"{text}; {_BEFORE}{closed}", (got.row, *peer_events(left)), left.led_here)
    return Led(text, (got.row,), certain=True)


def peer_text(facts: Facts, left: PeerLeft) -> str:
    """Return the words for a peer that left: who closed the connection, where and when."""
    graph = facts.graph
    if left.closed < 0:
        return f"the other end closed the connection at {offset(graph.at('ts', left.row))}, from outside the recording"
    call = graph.call_of(left.closed)
    at = in_brackets(place(facts, call)) if call >= 0 else ""
    closer = who(facts, graph.at("strand", left.closed))
    return f"{closer} closed the connection at the other end at {offset(graph.at('ts', left.closed))}{at}"


def peer_events(left: PeerLeft) -> tuple[int, ...]:
    return (left.row, left.closed) if left.closed >= 0 else (left.row,)


def _handled(facts: Facts, cancel: Fact[Cancel]) -> Fact[Exception_] | None:
    """Return the exception that the canceller handled when it cancelled, other than a cancellation.

    Its record comes just before the record of the cancellation.
    """
    graph, found = facts.graph, facts.exceptions
    place_of = bisect_left(found, cancel.row, key=lambda fact: fact.row) - 1
    row = cancel.row - 1
    while place_of >= 0 and found[place_of].row == row and graph.at("strand", row) == cancel.strand:
        fact = found[place_of]
        if fact.text.role == "handled":
            return None if fact.channel.rpartition(".")[2] == _CANCELLED else fact
        row, place_of = row - 1, place_of - 1
    return None
