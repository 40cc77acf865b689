"""Put into words who wrote a row or a key that was read."""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.states.stored import CLOSE_NS, PARTS, Seen, StoredStates, shown
from clew.records.format.states import DELETED
from clew.records.format.stored_states import DELETE, UNKNOWN, Access


def read_text(facts: Facts, seen: Seen) -> str:
    """Return the state that was read, with what was last written: `stock['teapot'] (pieces = 9)`."""
    read = StoredStates.of(facts.graph).at(seen.read)
    change = change_text(facts, seen.write, seen)
    name = f"some row of {seen.name}" if seen.some_row else seen.name
    if read.missing and change != DELETED:
        return f"{name}, which did not exist"
    if "" in read.values:
        return f"{name} = {shown(read.values[''])}"
    if change.startswith("= "):
        return f"{name} {change}"
    return name if change in {"", DELETED} else f"{name} ({change})"


def change_text(facts: Facts, row: int, seen: Seen | None = None) -> str:
    """Return what a write changed: `pieces = 9`, `= 'token'` of a key, `deleted`. With `seen`, without the row's own key."""
    states = StoredStates.of(facts.graph)
    access = states.at(row)
    if access.do == DELETE:
        return DELETED
    known = states.at(seen.read).row if seen is not None else {}
    values = {name: value for name, value in states.values(row).items() if name not in known}
    if access.command in PARTS:
        return f"{access.command} {shown(values.get('', UNKNOWN))}"
    if list(values) == [""]:
        return f"= {shown(values[''])}" if values[""] != UNKNOWN else access.command
    values = {name: value for name, value in values.items() if value != UNKNOWN} or values
    if any(name.isdigit() for name in values):
        return ", ".join(map(shown, values.values()))
    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def done_text(facts: Facts, row: int, name: str, seen: Seen | None = None) -> str:
    """Return what a writer did: `wrote stock['teapot'] (pieces = 9)`."""
    change = change_text(facts, row, seen)
    if change == DELETED:
        return f"deleted {name}"
    if change.startswith("= "):
        return f"wrote {name} {change}"
    return f"wrote {name} ({change})" if change else f"wrote {name}"


def written_text(facts: Facts, seen: Seen, who: str) -> str:
    """Return who wrote what was read, for the rest of a sentence: `, which set_left wrote`."""
    states = StoredStates.of(facts.graph)
    read, write = states.at(seen.read), states.at(seen.write)
    done = done_text(facts, seen.write, seen.name, seen)
    if write.expires and read.missing:
        return f"; the server removes it some time after {who} {done}"
    if seen.is_other:
        return f", which no recorded write explains; the last one is that {who} {done}"
    return f", which {who} {'deleted' if write.do == DELETE else 'wrote'}"


def row_text(access: Access) -> str:
    """Return the row that a statement names, with its brackets; "" for none."""
    return StoredStates.name_of(access)[len(access.name) :]


def order_text(facts: Facts, seen: Seen, order: str) -> str:
    """Return how the order of a write and a read is known, "" if recorded synchronisation orders them."""
    if order != "unordered":
        return ""
    graph = facts.graph
    several = graph.process_of(seen.write) != graph.process_of(seen.read)
    clocks = "the clocks of the two processes" if several else "the clock"
    ns = graph.at("ts", seen.read) - graph.at("ts", seen.write)
    if ns < CLOSE_NS:
        return f"; by {clocks} the write came only {words.seconds(max(ns, 0))} before, so the read may have been first"
    return f"; by {clocks} the write came first"
