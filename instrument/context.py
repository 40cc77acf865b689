"""Carries causes from process to process: W3C trace context, https://www.w3.org/TR/trace-context.

The span id of a `traceparent` header is the key of the SEND that wrote it, the trace id names the run. Invariants: a header
that another tracer wrote is never replaced, only its span id is used as the key; a malformed header is no cause; nothing
here raises. The header's form is fixed, so it is written and read here: a propagator's library takes the request that needs
it first some milliseconds to load.
"""

import functools
import os
from typing import Any

from clew.instrument import carriers
from clew.instrument.recorder.lifecycle import run_folder
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import Kind
from clew.records.keys import KeySource, key_of
from clew.records.tuples import NamedTuple

CHANNEL = "traceparent"
_DIGITS = frozenset("0123456789abcdef")
_KEPT, _DROPPED = 1, 2
"""What `core.flow` gives."""
_source = KeySource()
_pairs: dict[int, carriers.Pair] = {}
"""What lists held that a place wrote to, by its site: an empty one does not tell."""


def _renew() -> None:
    # A forked child goes on from the same state: its keys must not be its parent's.
    global _source
    _source = KeySource()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def fresh_key() -> int:
    """A key that no other object of the run has."""
    return core.flow_key(_source.fresh())


def inject_into(carrier: Any, site: int = 0, name: str = CHANNEL) -> int:
    """Records a SEND, writes its key under `name` into what `carriers` can write to, and returns the key.

    Headers that hold another tracer's `traceparent` stay as they are: its span id is the key. Returns 0, and records
    nothing, when recording is off or the carrier is none that can be written.
    """
    if not core.active():
        return 0
    try:
        there = _span_in(carrier, name)
        if there is not None and there.trace != _trace_of(run_folder()):
            # It may come by again, in a retry for instance: a target pairs with the last one.
            key = there.span
        else:
            key = fresh_key()
            pair = carriers.write(carrier, name, _header_of(key), _pairs.get(site))
            if pair is not None and site:
                _pairs[site] = pair
    except Exception:
        return 0
    core.emit(Kind.SEND, site, key, intern(CHANNEL))
    return key


def forward_from(carrier: Any, site: int = 0) -> int:
    """Records a SEND of the span that finished headers name, and returns its key; 0 when they name none."""
    return _record(Kind.SEND, carrier, site, CHANNEL)


def extract_from(carrier: Any, site: int = 0, name: str = CHANNEL) -> int:
    """Records a RECEIVE of the cause that `carrier` names under `name`, and returns its key; 0 when it names none."""
    return _record(Kind.RECEIVE, carrier, site, name)


def receive_header(header: object, site: int = 0) -> int:
    """`extract_from` for the header that a server has found; None, and what is malformed, are no cause."""
    span = parse(header) if isinstance(header, str) and core.active() else None
    if span is None:
        return 0
    core.emit(Kind.RECEIVE, site, span.span, intern(CHANNEL))
    return span.span


def _record(kind: Kind, carrier: Any, site: int, name: str) -> int:
    if not core.active():
        return 0
    try:
        there = _span_in(carrier, name)
    except Exception:
        return 0
    if there is None:
        return 0
    if kind is Kind.RECEIVE and there.trace != _trace_of(run_folder()):
        # Another tracer decided; what we sent carries its flow in its key.
        core.flow_known(there.span, _KEPT if there.sampled else _DROPPED)
    core.emit(kind, site, there.span, intern(CHANNEL))
    return there.span


class Span(NamedTuple):
    """What a `traceparent` header names."""

    trace: str
    """32 hexadecimal digits."""
    span: int
    sampled: bool = True


@functools.lru_cache(maxsize=1)
def _trace_of(folder: str | None) -> str:
    run = os.path.basename(folder or "")
    return f"{key_of('trace', run):016x}{key_of('trace', (run, 'low')):016x}"


def parse(header: str) -> Span | None:
    """None for a header that is malformed, of the forbidden version, or all zeros."""
    version, trace, span, flags = (*header.strip(" \t").split("-", 4), "", "", "")[:4]
    if (len(version), len(trace), len(span), len(flags)) != (2, 32, 16, 2) or version == "ff":
        return None
    if not _DIGITS.issuperset(version + trace + span + flags) or (version == "00" and header.count("-") > 3):
        return None
    return Span(trace, int(span, 16), bool(int(flags, 16) & 1)) if trace.strip("0") and span.strip("0") else None


def new_header(site: int = 0) -> str:
    """Records a SEND; the header that carries its key."""
    key = fresh_key()
    core.emit(Kind.SEND, site, key, intern(CHANNEL))
    return _header_of(key)


def _header_of(key: int) -> str:
    return f"00-{_trace_of(run_folder())}-{key:016x}-{'00' if core.flow() == _DROPPED else '01'}"


def _span_in(carrier: Any, name: str) -> Span | None:
    header = carriers.read(carrier, name)
    return parse(header) if header else None
