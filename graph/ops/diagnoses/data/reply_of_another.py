"""Find replies that the wrong request read: it used a connection on which an earlier request had left its reply unread.

An earlier request wrote its command and was interrupted before anybody took bytes from the connection. Then another
request wrote its command to the same connection and took the bytes that arrived first. Connections whose users did not
take turns before, one command and its reply each, are left out: their replies may come in any order.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from clew.graph.ops.diagnoses.control.cancelled_by import cancels_of
from clew.graph.ops.diagnoses.data.connections import End, Use, could_cause, ends_of
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.diagnoses.words import offset, who
from clew.graph.ops.facts.facts import Facts, Waiting

KIND = "reply-of-another"
_READERS = frozenset({
    "_wait_for_data", "recv", "recv_into", "read", "readline", "readexactly", "readuntil", "readinto", "receive",
})  # fmt: skip
_BASIS = (
    "the order of the writes and reads on the connection; what its other end did with the commands was not recorded"
)


def find(facts: Facts) -> list[Finding]:
    """Return the replies that the wrong request read, at most one for each interrupted request."""
    if not (facts.cancels or facts.ended or facts.exceptions or facts.waits):
        return []
    found = []
    for end in ends_of(facts).values():
        turns = _turns(facts, end)
        unread = next((number for number, turn in enumerate(turns) if turn[-1].writes), len(turns))
        if unread + 1 < len(turns):
            finding = _finding(facts, turns[unread], turns[unread + 1], complete=unread)
            if finding:
                found.append(finding)
    return found


def _turns(facts: Facts, end: End) -> list[list[Use]]:
    """Return the uses of an end in turns, as long as its users take turns.

    A turn is of one strand: writes, then reads. A write of another strand begins a new turn, and so does a write after
    a read, or after a read that was interrupted. A strand that reads without having written ends the sequence.
    """
    turns: list[list[Use]] = []
    for use in end.uses:
        last = turns[-1] if turns else None
        if not use.writes:
            if last is None or last[0].strand != use.strand:
                return turns
            last.append(use)
            continue
        same = last is not None and last[-1].writes and last[-1].strand == use.strand
        stopped = _interruption(facts, turns[-1][-1], use) if same else None
        if same and not (stopped and stopped[2]):
            turns[-1].append(use)
        else:
            turns.append([use])
    return turns


def _finding(facts: Facts, first: list[Use], second: list[Use], complete: int) -> Finding | None:
    """Return the finding for an unread turn and the turn after it; `complete` turns came before."""
    asked, taken = first[-1], next((use for use in second if not use.writes), None)
    mine = second[0]
    if taken is None:
        return None
    stopped = _interruption(facts, asked, mine)
    if stopped is None:
        return None
    rows, how, while_reading = stopped
    if not complete and not while_reading:
        return None
    certainty, proof, basis = _proof(facts, asked, second, taken)
    if not proof:
        return None
    writer, reader = who(facts, asked.strand), who(facts, mine.strand)
    claims = (
        Claim(
            f"{writer} sent {asked.size} bytes at {offset(asked.ns)}{_at(facts, asked)}, and {how} before it read the reply.",
            (asked.row, *rows),
        ),
        Claim(
            f"The connection stayed in use: {reader} sent {mine.size} bytes on it at {offset(mine.ns)}{_at(facts, mine)}.",
            (mine.row,),
        ),
        Claim(
            f"The {taken.size} bytes that {reader} then read{_at(facts, taken)} are the reply to {writer}: {proof}.",
            tuple(dict.fromkeys((taken.arrival, taken.row, asked.row, mine.row))),
        ),
    )
    victims = (Victim(mine.strand, taken.row, -1),)
    return Finding(KIND, Reason.DATA, claims, victims, certainty, basis)


def _interruption(facts: Facts, asked: Use, mine: Use) -> tuple[tuple[int, ...], str, bool] | None:
    """Return how a request was interrupted between its write and the next one's: rows, words, whether it was reading."""
    waits = facts.waits_of.of(asked.strand)
    low, high = np.searchsorted(waits.row, asked.row, "right"), np.searchsorted(waits.begin_ns, mine.ns, "right")
    inside = waits[int(low) : int(high)]
    stopped = inside.ended("cancelled", "timeout") & (inside.wake_ns <= mine.ns)
    broken: Waiting | None = next(iter(inside.take(stopped)), None)
    reading = bool(broken and any(frame.function.rpartition(".")[2] in _READERS for frame in broken.begin.text.at))
    cancel = next((each for each in cancels_of(facts).get(asked.strand, ()) if asked.ns <= each.ns <= mine.ns), None)
    shown = broken.rows if broken else ()
    if cancel:
        by = "a time limit" if cancel.text.deadline else who(facts, cancel.strand)
        at = in_brackets(place(facts, cancel.row, cancel.text.at))
        return (cancel.row, *shown), f"{by} cancelled it at {offset(cancel.ns)}{at}", reading
    if broken:
        ended = "timed out" if broken.end == "timeout" else "was cancelled"
        return shown, f"{ended} at {offset(broken.until_ns(facts.last_ns))}", reading
    ended_by = facts.ended.get(asked.strand)
    if ended_by and asked.ns <= ended_by.ns <= mine.ns:
        how = "was cancelled" if ended_by.text.end == "cancelled" else "failed"
        return (ended_by.row,), f"{how} at {offset(ended_by.ns)}", False
    for fact in _raised(facts).get(asked.strand, ()):
        if asked.ns <= fact[0] <= mine.ns and fact[2]:
            return (fact[1],), f"gave up at {offset(fact[0])} by {fact[3]}", True
    return None


def _raised(facts: Facts) -> dict[int, list[tuple[int, int, bool, str]]]:
    """Return the time-outs that strands raised: time, row, whether a read raised it, type."""
    known: dict[int, list[tuple[int, int, bool, str]]] | None = facts.graph.answers.get("time-outs of strands")
    if known is None:
        known = facts.graph.answers["time-outs of strands"] = {}
        exceptions = facts.exceptions
        for fact in exceptions.take(exceptions.of_types(lambda name: "timeout" in name.lower())):
            if fact.text.role in ("raised", "handled"):
                reads = any(frame.function.rpartition(".")[2] in _READERS for frame in fact.text.at)
                known.setdefault(fact.strand, []).append((fact.ns, fact.row, reads, fact.channel))
    return known


def _proof(facts: Facts, asked: Use, second: list[Use], taken: Use) -> tuple[Literal["recorded", "inferred"], str, str]:
    """Return how sure it is that the bytes answer the earlier request, why, and for an inference what it follows from."""
    graph = facts.graph
    mine = second[0]
    if graph.at("ts", taken.arrival) < mine.ns:
        return "recorded", f"they arrived before {who(facts, mine.strand)} sent anything", ""
    own = {use.row for use in second if use.writes}
    recorded, causes = could_cause(facts, taken.arrival, own | {asked.row})
    if recorded and asked.row not in causes:
        return "recorded", "", ""
    if recorded and not causes & own:
        names = f"{who(facts, asked.strand)}'s bytes by then, and not {who(facts, mine.strand)}'s"
        return "recorded", f"their sender had received {names}", ""
    return "inferred", "nobody had read it, and replies come in the order of the commands", _BASIS


def _at(facts: Facts, use: Use) -> str:
    return in_brackets(place(facts, use.row))
