"""Tell who wrote the states that an event depended on; see `clew.graph.ops.states`."""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Reason
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.states.last_writers import StateRead
from clew.graph.ops.states.writes import Write, Writes
from clew.records.format.states import ITEM, METHOD

BASIS = "what the source reads at these lines; the writes themselves are recorded"
RACE = "nothing recorded orders this write and the read, so it is a race"


def state_claim(facts: Facts, state: StateRead) -> Claim:
    """Return a sentence about the last write of a state before it was read."""
    graph = facts.graph
    reader = graph.sites[graph.at("site", state.reader)].qualname if state.reader >= 0 else "the module"
    write = Writes.of(graph).at(state.row)
    text = f"{_short(reader)} read {_read(state, write)}{_written_by(facts, state, write)}"
    text += _place(facts, state.row)
    around = caller(facts, state.row)
    text += f", called by {around}" if around else ""
    own = graph.at("strand", state.row) == graph.at("strand", state.reader if state.reader >= 0 else state.row)
    text += "" if own else f", in {words.who(facts, graph.at('strand', state.row))}"
    text += f"; {RACE}" if state.order == "unordered" else ""
    rows = [row for row in (state.reader, state.row) if row >= 0]
    text += "."
    for later in state.later:
        done = _done(state, Writes.of(graph).at(later))
        text += f" {writer(facts, later)} {done} only after that{_place(facts, later)}."
        rows.append(later)
    return Claim(text, tuple(rows))


def _read(state: StateRead, write: Write) -> str:
    """Return the state that was read, with its value if that is known."""
    name = state.name if state.may_miss or write.channel.startswith(METHOD) else _changed(state, write)
    if state.by_name:
        return f"a state called {name}, of an object that is not known"
    return f"an item of {state.name}, perhaps {name}" if state.unsure_item else name


def _written_by(facts: Facts, state: StateRead, write: Write) -> str:
    who = writer(facts, state.row)
    if state.may_miss:
        return f"; the last recorded write, after which others may be missing, is that {who} {_done(state, write)}"
    if write.channel.startswith(METHOD):
        return f", on which {who} called {write.channel[1:]}({value_text(write)})"
    return f", which {who} {'deleted' if write.deletes else 'wrote'}"


def told_steps(facts: Facts, states: list[StateRead]) -> tuple[tuple[int, Reason, str], ...]:
    """Return steps to the last writes of states, and from each to the calls around it, for `Trail.told`."""
    writes = Writes.of(facts.graph)
    steps: list[tuple[int, Reason, str]] = []
    for state in states:
        steps.append((state.row, Reason.DATA, f"{writer(facts, state.row)} {_done(state, writes.at(state.row))}"))
        if len(states) == 1:
            for row in state.history[1:3]:
                steps.append((row, Reason.DATA, f"before, {writer(facts, row)} {_done(state, writes.at(row))}"))
    return tuple(steps)


def _done(state: StateRead, write: Write) -> str:
    """Return what a write did to a state: `wrote stock['book'] = 1`."""
    if write.channel.startswith(METHOD):
        return f"called {write.channel[1:]}({value_text(write)}) on {state.name}"
    return f"{'deleted' if write.deletes else 'wrote'} {_changed(state, write)}"


def writer(facts: Facts, row: int) -> str:
    """Return the function that wrote, with the value where it is a parameter's: `Cart.apply_coupon(110)`."""
    graph = facts.graph
    call = graph.owner_of(row)
    if call < 0:
        return "code outside recorded functions"
    site, line = graph.sites[graph.at("site", call)], graph.sites[graph.at("site", row)].line
    name = _short(site.qualname)
    source = Writes.of(graph).source_of(site.file)
    assigned = source.assigned(site.line, line) if source is not None else None
    value = value_text(Writes.of(graph).at(row))
    if assigned is None or not assigned.parameter or not value:
        return name
    if assigned.parameters == 1:
        return f"{name}({value})"
    return f"{name}(…, {assigned.parameter}={value})"


def caller(facts: Facts, row: int) -> str:
    """Return the function that called the writer in the same strand, "" for none."""
    graph = facts.graph
    call = graph.owner_of(row)
    around = graph.enclosing_call(call) if call >= 0 else -1
    return _short(graph.sites[graph.at("site", around)].qualname) if around >= 0 else ""


def _changed(state: StateRead, write: Write) -> str:
    item = f"[{write.item_name}]" if write.channel == ITEM and write.item and not state.name.endswith("]") else ""
    return f"{state.name}{item}" if write.deletes else f"{state.name}{item} = {value_text(write)}"


def value_text(write: Write) -> str:
    """Return the value of a write for a sentence: `110`, or `a dict` for an object."""
    if not write.value.key:
        return write.value.text
    return f"{'an' if write.value.text[:1] in 'aeiouAEIOU' else 'a'} {write.value.text}"


def _short(qualname: str) -> str:
    return qualname.rpartition(".<locals>.")[2]


def _place(facts: Facts, row: int) -> str:
    site = facts.graph.sites[facts.graph.at("site", row)]
    return f" ({words.base_name(site.file)}:{site.line})" if site.file else ""
