"""Carries causes from process to process: W3C trace context, written and read by OpenTelemetry's propagator.

The span id of a `traceparent` header is the key of the SEND that wrote it, the trace id names the run. Invariants: a header
that another tracer wrote is never replaced, only its span id is used as the key; a malformed header is no cause; nothing
here raises, and OpenTelemetry is imported by the first header, not before.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING

from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import Kind
from clew.records.keys import KeySource, key_of
from clew.records.run import RUN_VARIABLE

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

CHANNEL = "traceparent"
_source = KeySource()


def _renew() -> None:
    # A forked child goes on from the same state: its keys must not be its parent's.
    global _source
    _source = KeySource()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def fresh_key() -> int:
    """A key that no other object of the run has."""
    return _source.fresh()


def inject_into(carrier: MutableMapping[str, str], site: int = 0) -> int:
    """Records a SEND, writes its key into the headers in `carrier`, and returns the key.

    Headers that hold another tracer's `traceparent` stay as they are: its span id is the key. Returns 0, and records
    nothing, when recording is off or the carrier is no mapping that can be written.
    """
    if not core.active():
        return 0
    try:
        there = _span_in(carrier)
        if there is not None and there.trace_id != _trace_id():
            # It may come by again, in a retry for instance: a target pairs with the last one.
            key = there.span_id
        else:
            key = fresh_key()
            _write(carrier, key)
    except Exception:
        return 0
    core.emit(Kind.SEND, site, key, intern(CHANNEL))
    return key


def forward_from(carrier: Mapping[str, str], site: int = 0) -> int:
    """Records a SEND of the span that finished headers name, and returns its key; 0 when they name none."""
    return _record(Kind.SEND, carrier, site)


def extract_from(carrier: Mapping[str, str], site: int = 0) -> int:
    """Records a RECEIVE of the cause that the headers in `carrier` name, and returns its key; 0 when they name none."""
    return _record(Kind.RECEIVE, carrier, site)


def _record(kind: Kind, carrier: Mapping[str, str], site: int) -> int:
    if not core.active():
        return 0
    try:
        there = _span_in(carrier)
    except Exception:
        return 0
    if there is None:
        return 0
    core.emit(kind, site, there.span_id, intern(CHANNEL))
    return there.span_id


@functools.cache
def _propagator() -> TraceContextTextMapPropagator:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator()


@functools.cache
def _trace_id() -> int:
    run = os.path.basename(os.environ.get(RUN_VARIABLE, ""))
    return key_of("trace", run) << 64 | key_of("trace", (run, "low"))


def _write(carrier: MutableMapping[str, str], key: int) -> None:
    from opentelemetry import trace
    from opentelemetry.context import Context

    span = trace.NonRecordingSpan(
        trace.SpanContext(_trace_id(), key, False, trace.TraceFlags(trace.TraceFlags.SAMPLED))
    )
    # A header of ours, in whatever case it came back, makes way for the new one.
    for name in [name for name in carrier if name.lower() == CHANNEL]:
        del carrier[name]
    _propagator().inject(carrier, trace.set_span_in_context(span, Context()))


def _span_in(carrier: Mapping[str, str]) -> SpanContext | None:
    from opentelemetry import trace
    from opentelemetry.context import Context

    # Header names have no case; a plain dict of them does.
    header = {str(name).lower(): value for name, value in carrier.items() if str(name).lower() == CHANNEL}
    if not header:
        return None
    found = trace.get_current_span(_propagator().extract(header, Context())).get_span_context()
    return found if found.is_valid else None
