"""Sentences about one recorded fact: a wait and what it was for, a cancellation."""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.places import in_brackets
from clew.graph.ops.facts.blockers import is_lock
from clew.graph.ops.facts.exceptions.handled import Handled
from clew.graph.ops.facts.facts import Facts, Holding, Waiting
from clew.records.format.facts import Holder

_ENDS = {
    "timeout": "until its time limit",
    "cancelled": "until it was cancelled",
    "failed": "until an exception ended the wait",
    "never": "and never went on",
}


def raised(facts: Facts, handled: Handled) -> str:
    """Return `raised in transfer, bank.py:10`, with the process if a pool brought the exception; "" if nothing is known."""
    place = words.where(handled.at, facts)
    if not handled.is_from_pool:
        return f"raised in {place}" if place else ""
    if handled.first is handled.fact:
        return "raised in a worker process"
    process = facts.graph.processes[handled.first.process].name
    return f"raised in {place}, in the worker process {process}" if place else f"raised in the worker process {process}"


def waited(facts: Facts, wait: Waiting, thing: str = "") -> str:
    """Return `pay-rent waited 2 s for dst.lock (transfer, bank.py:10), until its time limit`."""
    end = _ENDS.get(wait.end, "")
    ended = f", {end}" if end and wait.end != "never" else f" {end}" if end else ""
    lasted = wait.until_ns(facts.last_ns) - wait.begin.ns
    return f"{words.who(facts, wait.strand)} {words.waited_for(facts, wait, lasted, thing)}{ended}"


def waited_for_end(facts: Facts, wait: Waiting, target: int) -> str:
    """Return a sentence about a wait for the end of another strand."""
    return waited(facts, wait, f"{words.who(facts, target)} to end")


def waited_for_slot(facts: Facts, wait: Waiting, holding: Holding) -> str:
    """Return a sentence about a wait for a slot, and who had it."""
    slots = wait.begin.text.capacity
    what = (
        "it" if is_lock(wait) else f"one of its {slots} slots" if slots > 1 else "its only slot" if slots else "a slot"
    )
    held = f"{words.who(facts, holding.strand)} had held {what} since {words.offset(holding.since_ns)}"
    at = words.taken_at(facts, holding)
    return f"{waited(facts, wait)}; {held}{f' ({at})' if at else ''}"


def waited_for_holder(facts: Facts, wait: Waiting, holder: Holder, strand: int) -> str:
    """Return a sentence about a wait for a resource, and who held it."""
    name = words.who(facts, strand)
    since = f" since {words.offset(wait.begin.ns - holder.held_ns)}" if holder.held_ns >= 0 else ""
    held = f"{name} had held it{since}"
    return f"{waited(facts, wait)}; {held}{in_brackets(words.where(holder.at, facts))}"
