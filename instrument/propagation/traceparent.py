"""Propagate causes from process to process: W3C trace context, https://www.w3.org/TR/trace-context.

The span id of a `traceparent` header is the key of the SEND that wrote it, and the trace id identifies the run. The header's
form is fixed, so this module writes and parses it: loading a propagator library would delay the first request by some
milliseconds. Invariants: a header of another tracer is never replaced; its span id is the key. A malformed header is not a
cause. This module never raises into the program.
"""

import functools
import os
from typing import Any

from clew.instrument.propagation import carriers
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.instrument.recorder.lifecycle import run_folder
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import Kind
from clew.records.format.keys import KeySource, key_of

CHANNEL = "traceparent"
_DIGITS = frozenset("0123456789abcdef")
_RECORDED, _DROPPED = 1, 2
"""Results of `core.flow`."""
_source = KeySource()
_pairs: dict[int, carriers.Pair] = {}
"""Types of the pairs in lists that a site wrote to, because an empty list does not show them."""


def _renew() -> None:
    # A forked child would continue from the same state, but its keys must differ from its parent's.
    global _source
    _source = KeySource()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def fresh_key() -> int:
    """Return a key that no other object of the run has."""
    return core.flow_key(_source.fresh())


def inject_into(carrier: Any, site: int = 0, name: str = CHANNEL) -> int:
    """Record a SEND, write its key under `name` into a carrier that `carriers` supports, and return the key.

    A `traceparent` header of another tracer stays unchanged: its span id is the key. Returns 0 without a record when
    recording is off or the carrier is not supported.
    """
    if not core.active():
        return 0
    try:
        there = _span_in(carrier, name)
        if there is not None and there.trace != _trace_of(run_folder()):
            # The header may be sent again, for example in a retry; a target is paired with the last SEND.
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
    """Record a SEND of the span in complete headers, and return its key; 0 if they have none."""
    return _record(Kind.SEND, carrier, site, CHANNEL)


def extract_from(carrier: Any, site: int = 0, name: str = CHANNEL) -> int:
    """Record a RECEIVE of the cause in `carrier` under `name`, and return its key; 0 if it has none."""
    return _record(Kind.RECEIVE, carrier, site, name)


def receive_header(header: object, site: int = 0) -> int:
    """Record a RECEIVE for the header that a server found; None and malformed headers have no cause."""
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
        # Another tracer made the sampling decision; headers of clew carry their flow in the key.
        core.flow_known(there.span, _RECORDED if there.sampled else _DROPPED)
    core.emit(kind, site, there.span, intern(CHANNEL))
    return there.span


class Span(NamedTuple):
    """The contents of a `traceparent` header."""

    trace: str
    """32 hexadecimal digits."""
    span: int
    sampled: bool = True


@functools.lru_cache(maxsize=1)
def _trace_of(folder: str | None) -> str:
    run = os.path.basename(folder or "")
    return f"{key_of('trace', run):016x}{key_of('trace', (run, 'low')):016x}"


def parse(header: str) -> Span | None:
    """Parse a header; return None if it is malformed, of the forbidden version, or all zeros."""
    version, trace, span, flags = (*header.strip(" \t").split("-", 4), "", "", "")[:4]
    if (len(version), len(trace), len(span), len(flags)) != (2, 32, 16, 2) or version == "ff":
        return None
    if not _DIGITS.issuperset(version + trace + span + flags) or (version == "00" and header.count("-") > 3):
        return None
    return Span(trace, int(span, 16), bool(int(flags, 16) & 1)) if trace.strip("0") and span.strip("0") else None


def new_header(site: int = 0) -> str:
    """Record a SEND and return the header with its key."""
    key = fresh_key()
    core.emit(Kind.SEND, site, key, intern(CHANNEL))
    return _header_of(key)


def _header_of(key: int) -> str:
    return f"00-{_trace_of(run_folder())}-{key:016x}-{'00' if core.flow() == _DROPPED else '01'}"


def _span_in(carrier: Any, name: str) -> Span | None:
    header = carriers.read(carrier, name)
    return parse(header) if header else None
