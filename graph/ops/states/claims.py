"""Tell who wrote the states that an event depended on; see `clew.graph.ops.states`."""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Reason
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.states import stored_claims
from clew.graph.ops.states.last_writers import StateRead
from clew.graph.ops.states.order import unordered
from clew.graph.ops.states.stored import StoredStates
from clew.graph.ops.states.writes import Write, Writes
from clew.records.format.states import ITEM, METHOD

BASIS = "what the source reads at these lines; the writes themselves are recorded"


def state_claim(facts: Facts, state: StateRead) -> Claim:
    """Return a sentence about the last write of a state before it was read."""
    graph = facts.graph
    reader = graph.sites[graph.at("site", state.reader)].qualname if state.reader >= 0 else "the module"
    text = f"{short(reader)} read {_read(facts, state)}{_written_by(facts, state)}"
    text += _place(facts, state.row)
    around = caller(facts, state.row)
    text += f", called by {around}" if around else ""
    own = graph.at("strand", state.row) == graph.at("strand", state.reader if state.reader >= 0 else state.row)
    text += "" if own else f", in {words.who(facts, graph.at('strand', state.row))}"
    if state.stored is not None:
        text += stored_claims.order_text(facts, state.stored, state.order)
    elif state.order == "unordered":
        text += f"; {unordered(graph, state.row, state.reader, state.name).text}"
    rows = [row for row in (state.reader, state.row) if row >= 0]
    text += "."
    if state.stored is not None and state.stored.overwritten >= 0:
        lost = state.stored.overwritten
        who, base = words.who(facts, graph.at("strand", state.row)), _place(facts, state.stored.base).strip(" ()")
        text += f" {_begin(who)} had last read it at {base}; in between, {_whole_write(facts, state, lost)}."
        text += " That update is lost."
        rows += [lost, state.stored.base]
    for later in state.later:
        text += f" {_begin(writer(facts, later))} {_done(facts, state, later)} only after that{_place(facts, later)}."
        rows.append(later)
    return Claim(text, tuple(rows))


def _whole_write(facts: Facts, state: StateRead, row: int) -> str:
    """Return a write with its place, the caller, and the thread, task or process."""
    around = caller(facts, row)
    called = f", called by {around}" if around else ""
    who = words.who(facts, facts.graph.at("strand", row))
    return f"{writer(facts, row)} {_done(facts, state, row)}{_place(facts, row)}{called}, in {who}"


def _begin(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" if text.startswith(("code outside", "process ")) else text


def _read(facts: Facts, state: StateRead) -> str:
    """Return the state that was read, with its value if that is known."""
    if state.stored is not None:
        return f"{'perhaps ' if state.unsure_item else ''}{stored_claims.read_text(facts, state.stored)}"
    write = Writes.of(facts.graph).at(state.row)
    name = state.name if state.may_miss or write.channel.startswith(METHOD) else _changed(state, write)
    if state.by_name:
        return f"a state called {name}, of an object that is not known"
    return f"an item of {state.name}, perhaps {name}" if state.unsure_item else name


def _written_by(facts: Facts, state: StateRead) -> str:
    who = writer(facts, state.row)
    if state.stored is not None:
        return stored_claims.written_text(facts, state.stored, who)
    write = Writes.of(facts.graph).at(state.row)
    if state.may_miss:
        return f"; the last recorded write, after which others may be missing, is that {who} {_done(facts, state, state.row)}"
    if write.channel.startswith(METHOD):
        return f", on which {who} called {write.channel[1:]}({value_text(write)})"
    return f", which {who} {'deleted' if write.deletes else 'wrote'}"


def told_steps(facts: Facts, states: list[StateRead]) -> tuple[tuple[int, Reason, str], ...]:
    """Return steps to the last writes of states, and from each to the calls around it, for `Trail.told`."""
    steps: list[tuple[int, Reason, str]] = []
    for state in states:
        steps.append((state.row, Reason.DATA, f"{writer(facts, state.row)} {_done(facts, state, state.row)}"))
        if len(states) == 1:
            for row in state.history[1:3]:
                steps.append((row, Reason.DATA, f"before, {writer(facts, row)} {_done(facts, state, row)}"))
    return tuple(steps)


def _done(facts: Facts, state: StateRead, row: int) -> str:
    """Return what a write did to a state: `wrote stock['book'] = 1`."""
    if state.stored is not None:
        return stored_claims.done_text(facts, row, state.name, state.stored)
    write = Writes.of(facts.graph).at(row)
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
    name = short(site.qualname)
    if StoredStates.of(graph).has(row):
        return name
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
    return short(graph.sites[graph.at("site", around)].qualname) if around >= 0 else ""


def _changed(state: StateRead, write: Write) -> str:
    item = f"[{write.item_name}]" if write.channel == ITEM and write.item and not state.name.endswith("]") else ""
    return f"{state.name}{item}" if write.deletes else f"{state.name}{item} = {value_text(write)}"


def value_text(write: Write) -> str:
    """Return the value of a write for a sentence: `110`, or `a dict` for an object."""
    if not write.value.key:
        return write.value.text
    return f"{'an' if write.value.text[:1] in 'aeiouAEIOU' else 'a'} {write.value.text}"


def short(qualname: str) -> str:
    return qualname.rpartition(".<locals>.")[2]


def _place(facts: Facts, row: int) -> str:
    site = facts.graph.sites[facts.graph.at("site", row)]
    return f" ({words.base_name(site.file)}:{site.line})" if site.file else ""
