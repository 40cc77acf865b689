"""Find what became of a request that an execution had sent when it failed: its receiver raised, or had not answered yet.

A request is a message with a header of clew, or else the last bytes that were written to a connection whose answer the
execution waited for in vain. Invariant: the function that sent the request was still running at the failure, so that it had
not yet made use of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.ops.answer.activity import doing_at
from clew.graph.ops.answer.sent_bytes import CHANNEL, handler_of_bytes
from clew.graph.ops.causes.why import effects
from clew.graph.ops.diagnoses import words
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind

MOST_ROWS = 5000
"""The events before a failure among which its request is looked for."""
_CHANNEL = "traceparent"


@dataclass(frozen=True)
class SentRequest:
    """What became of a request."""

    row: int
    """The receiver's event that tells it."""
    text: str
    """The same as a sentence without its full stop."""
    events: tuple[int, ...]


def sent_request(facts: Facts, row: int) -> SentRequest | None:
    """Return what became of the last request that was sent before a failure at a row, None if it was answered well."""
    sent = _last_sent(facts, row, _CHANNEL)
    received = next((effect.event for effect in effects(facts.graph, sent)), -1) if sent >= 0 else -1
    if received >= 0:
        call, what = _handler(facts, received), "a request"
    else:
        sent = _last_sent(facts, row, CHANNEL)
        call, what = handler_of_bytes(facts, sent, row) if sent >= 0 else -1, "bytes"
    if call < 0:
        return None
    return _raised(facts, row, sent, call, what) or _not_answered(facts, row, sent, call, what)


def _last_sent(facts: Facts, row: int, name: str) -> int:
    """Return the last event of sending on a channel by the functions that run at a row, -1 if there is none."""
    graph = facts.graph
    channel = graph.channel_ids.get(name, -1)
    start = max(graph.strand_of(row).start, row - MOST_ROWS)
    for at in (start + np.flatnonzero(graph.kind[start:row] == Kind.SEND)[::-1]).tolist():
        ext = graph.at("ext", at)
        if ext < 0 or int(graph.extensions.channel[ext]) != channel:
            continue
        call = graph.owner_of(at)
        if call < 0 or 0 <= graph.exit_of(call) < row:
            return -1
        return int(at)
    return -1


def _handler(facts: Facts, received: int) -> int:
    """Return the first call of the program after a request was received, -1 if there is none."""
    graph = facts.graph
    last = int(graph.regions.last[graph.region[received]])
    rows = np.flatnonzero(graph.kind[received : last + 1] == Kind.ENTER)
    return received + int(rows[0]) if len(rows) else -1


def _raised(facts: Facts, row: int, sent: int, call: int, what: str) -> SentRequest | None:
    graph = facts.graph
    end = graph.exit_of(call)
    if end < 0 or graph.at("kind", end) != Kind.UNWIND or graph.at("ts", end) > graph.at("ts", row):
        return None
    inside = facts.exceptions.between(call, end)
    fact = next((each for each in reversed(inside) if each.text.role == "raised"), None)
    if fact is None:
        return None
    place = words.where(fact.text.at, facts)
    text = f"{_sent(facts, sent, call, what)}, which ended with {words.exception(fact)}"
    return SentRequest(fact.row, f"{text}, raised in {place}" if place else text, (sent, call, fact.row, end))


def _not_answered(facts: Facts, row: int, sent: int, call: int, what: str) -> SentRequest | None:
    graph = facts.graph
    end, ns = graph.exit_of(call), graph.at("ts", row)
    if end >= 0 and graph.at("ts", end) <= ns:
        return None
    text = f"{_sent(facts, sent, call, what)} {words.seconds(ns - graph.at('ts', sent))} earlier, which had not answered yet"
    doing = doing_at(facts, graph.at("strand", call), ns, ns, call)
    assert doing is not None  # it is in the call
    return SentRequest(doing.rows[0], f"{text}: it {doing.text}", tuple(dict.fromkeys((sent, call, *doing.rows, row))))


def _sent(facts: Facts, sent: int, call: int, what: str) -> str:
    """Return `show (Task-7) had sent a request to price (Task-9) of stock`."""
    graph = facts.graph
    receiver = f"{words.who(facts, graph.at('strand', call))} of {graph.process_of(call).name}"
    return f"{words.who(facts, graph.at('strand', sent))} had sent {what} to {receiver}"
