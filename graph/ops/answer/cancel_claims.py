"""Sentences about a cancellation behind an event: who asked for it, what led to that, and what each is inferred from."""

from __future__ import annotations

from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancelled_at, cancelled_by, cancels_of
from clew.graph.ops.diagnoses.control.led_to_cancel import INFERRED_FROM, what_led
from clew.graph.ops.diagnoses.finding import Claim
from clew.graph.ops.facts.facts import Fact, Facts
from clew.records.format.facts import Cancel

Told = list[tuple[Claim, str]]
"""Sentences, each with what it is inferred from, "" if it is recorded."""


def cancel_claims(facts: Facts, strand: int, row: int) -> Told:
    """Tell who cancelled a strand that was interrupted before a row, and what led to that."""
    found = cancelled_by(facts, strand, row)
    if found is None:
        return []
    cancel = next(fact for fact in cancels_of(facts)[strand] if fact.row == found.events[0])
    return _with_reason(facts, cancel, found.claims[0])


def source_claims(facts: Facts, source: int, target: int) -> Told:
    """Tell who cancelled the strand that gave data at a row, if it gave them in the clean-up of its cancellation."""
    strand = facts.graph.at("strand", source)
    cancel = cancelled_at(facts, source) if strand != facts.graph.at("strand", target) else None
    return _with_reason(facts, cancel, cancel_claim(facts, strand, cancel)) if cancel else []


def _with_reason(facts: Facts, cancel: Fact[Cancel], asked: Claim) -> Told:
    led = what_led(facts, cancel)
    if led is None:
        return [(asked, "")]
    return [(asked, ""), (Claim(f"{led.sentence}.", led.events), "" if led.certain else INFERRED_FROM)]
