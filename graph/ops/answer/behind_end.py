"""Tell what lies behind the end of a stream or queue: who closed it, whose cancellation did that, and what led to that.

An event depends on the end that its strand saw last in the same step. The end comes from a close. If a send into the stream
was cancelled before, or the closer itself was, that cancellation is the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancelled_at
from clew.graph.ops.diagnoses.control.led_to_cancel import INFERRED_FROM, peer_events, peer_text, what_led
from clew.graph.ops.diagnoses.finding import Claim, Reason
from clew.graph.ops.diagnoses.places import in_brackets, place, runs_callback
from clew.graph.ops.diagnoses.words import exception, offset, where, who
from clew.graph.ops.facts.connection_ends import ConnectionEnds, PeerLeft
from clew.graph.ops.facts.facts import Fact, Facts
from clew.records.format.facts import Exception_

_CLOSES = frozenset({
    "MemoryObjectSendStream.close", "MemoryObjectReceiveStream.close", "StreamReader.feed_eof", "Queue.shutdown",
})  # fmt: skip
_CUT = frozenset({"MemoryObjectSendStream.send"})
"""The functions in which clew records how a stream ended, and those in which a send was cancelled."""
END_ERRORS = frozenset({
    "EndOfStream", "BrokenResourceError", "IncompleteReadError", "ConnectionResetError", "QueueShutDown", "ShutDown",
    "EOFError",
})  # fmt: skip
"""The exceptions, by their names, that say that a stream or queue ended."""
_USUAL = END_ERRORS | {"CancelledError"}
"""The exceptions after which a connection is closed as a matter of course."""


@dataclass(frozen=True)
class Behind:
    """What lies behind the end of a stream: sentences, steps, and what is inferred."""

    claims: tuple[Claim, ...]
    steps: tuple[tuple[int, Reason, str], ...]
    """A row, the kind of reason, and the step in words."""
    inferred_from: str = ""

    @property
    def unusual(self) -> bool:
        """Whether a cancellation or an exception is behind the end."""
        return len(self.claims) > 1


def behind_end(facts: Facts, row: int) -> Behind | None:
    """Return what lies behind the end of a stream that a strand saw just before a row, None if it saw none."""
    graph, ends = facts.graph, ConnectionEnds.of(facts.graph)
    seen = [(target, source, graph.sites[graph.at("site", source)].qualname) for target, source in _sources(facts, row)]
    closes = [(target, source) for target, source, name in seen if name in _CLOSES]
    if not closes:
        return None
    target, closed = closes[-1]
    left = ends.peer_left_in(closed)
    closer = _closer(facts, left.closed if left else closed)
    cut = [source for at, source, name in seen if name in _CUT and at <= target]
    victim = cut[-1] if cut else closer
    cancel = cancelled_at(facts, victim) if victim >= 0 else None
    text, events = _end(facts, row, closer, left)
    steps = [(events[-1], Reason.DATA, text)]
    if cancel is None:
        end, failed = Claim(f"{text}.", (row, target, *events)), _failed(facts, closer)
        if failed is None:
            return Behind((end,), tuple(steps))
        at = f", raised in {where(failed.text.at, facts)}" if failed.text.at else ""
        text = f"{who(facts, failed.strand)} had just handled {exception(failed)}{at}"
        return Behind((end, Claim(f"{text}.", (failed.row, closer))), (*steps, (failed.row, Reason.DATA, text)))
    strand = graph.at("strand", victim)
    if cut:
        text = f"{text}, after {who(facts, strand)}, which was to send into it, was cancelled"
        events = (*events, victim)
    asked, led = cancel_claim(facts, strand, cancel), what_led(facts, cancel)
    steps.append((asked.events[-1], Reason.CONTROL, asked.text.removesuffix(".")))
    if led:
        steps.append((led.events[-1], Reason.DATA, led.text))
        asked = Claim(f"{asked.text.removesuffix('.')}; {led.text}.", (*asked.events, *led.events))
    claims = Claim(f"{text}.", (row, target, *events)), asked
    return Behind(claims, tuple(steps), "" if led is None or led.certain else INFERRED_FROM)


def _sources(facts: Facts, row: int) -> list[tuple[int, int]]:
    """Return the edges into the step of a row, as pairs of a target and a source, and those into the task that read for it."""
    ends, strand, found = ConnectionEnds.of(facts.graph), facts.graph.at("strand", row), []
    for target, source in ends.sources(ends.step_begin(row), row):
        if facts.helpers.acts_for.get(facts.graph.at("strand", source)) == strand:
            found += ends.sources(ends.step_begin(source), source)
        found.append((target, source))
    return found


def _failed(facts: Facts, closer: int) -> Fact[Exception_] | None:
    """Return the exception that the closing call handled in the same step before it closed, None if there is none."""
    if closer < 0:
        return None
    graph, call = facts.graph, facts.graph.owner_of(closer)
    begin = max(call, ConnectionEnds.of(graph).step_begin(closer))
    inside = facts.exceptions.between(begin, closer) if call >= 0 else ()
    own = (fact for fact in reversed(inside) if fact.text.role == "handled" and graph.owner_of(fact.row) == call)
    return next((fact for fact in own if fact.channel.rpartition(".")[2] not in _USUAL), None)


def _closer(facts: Facts, closed: int) -> int:
    """Return the row that closed something: of the task that asked the event loop to close it, if there is one."""
    graph = facts.graph
    if closed < 0 or not runs_callback(facts, closed):
        return closed
    opener = int(graph.regions.opener[graph.at("region", closed)])
    sources = [source for _, source in ConnectionEnds.of(graph).sources(opener, opener)]
    return sources[0] if sources and not runs_callback(facts, sources[0]) else closed


def _end(facts: Facts, row: int, closed: int, left: PeerLeft | None) -> tuple[str, tuple[int, ...]]:
    """Return the words for the end that the strand of a row saw, and the rows that they follow from."""
    graph = facts.graph
    reader = who(facts, graph.at("strand", row))
    if left:
        by = replace(left, closed=closed)
        return f"{reader} saw the end of a connection: {peer_text(facts, by)}", peer_events(by)
    call, strand = graph.call_of(closed), graph.at("strand", closed)
    at = in_brackets(place(facts, call)) if call >= 0 else ""
    closer = who(facts, strand)
    if strand == graph.at("strand", row):
        closer = "it"
    elif closer == reader:
        closer = f"another {closer}"
    return f"{reader} saw the end of a stream that {closer} closed at {offset(graph.at('ts', closed))}{at}", (closed,)
