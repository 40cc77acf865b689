"""Find which state an expression in the source means, and the write that it saw in the newest call of its function."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clew.graph.model.graph import ExecutionGraph, Site
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.states import claims, stored_claims
from clew.graph.ops.states.history import (
    NOT_RECORDED,
    History,
    history_of,
    is_recorded,
    state_of,
    states_of,
    with_contents,
)
from clew.graph.ops.states.last_writers import StateRead, states_in_call
from clew.graph.ops.states.stored import StoredStates
from clew.graph.ops.states.writes import Writes
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.source.state_reads import Expression


@dataclass(frozen=True)
class StateAt:
    """The state that an expression means."""

    name: str
    """`Cart.discount`, `stock`, or the expression where its object has no name."""
    history: History
    marked: int = -1
    """The last write that the newest call could read, -1 if there is none or several are possible."""
    reader: int = -1
    """The row up to which the newest call ran; -1 if no call is known."""
    seen: StateRead | None = None
    """What is known of the marked write, such as whether anything orders it before the read."""
    others: tuple[str, ...] = ()
    """Names of other states that the expression depends on."""
    note: str = ""
    """What is uncertain, as a sentence."""


def state_at(graph: ExecutionGraph, sites: list[int], line: int, text: str) -> StateAt:
    """Return the state that an expression at a recorded line of a function means. `sites` are the function's, at least one.

    Raise `ClewError` with a sentence if nothing of it was recorded.
    """
    writes = Writes.of(graph)
    site = graph.sites[sites[0]]
    source = writes.source_of(site.file)
    expression = source.expression(site.line, line, text) if source is not None else None
    values = _values(graph, sites, text) if expression is None or expression.is_parameter else ()
    if values:
        return StateAt(text, History(graph, values), values[-1])
    if not is_recorded(graph):
        raise ClewError(NOT_RECORDED)
    if source is None:
        return _by_name(graph, text, "The source that ran is not known, so the object is not known either.")
    if expression is None:
        raise ClewError(f"{text} is not an expression of {claims.short(site.qualname)} as it ran")
    call = _newest_call(graph, sites)
    if call < 0:
        return _by_name(graph, text, f"No call of {claims.short(site.qualname)} was recorded.")
    row = _row_of_line(graph, call, line)
    if expression.is_parameter and expression.path is not None:
        return _parameter(writes, sites, expression, call, row)
    found = states_in_call(graph, call, row, expression.reads)
    own = [state for state in found if _is_asked(writes, expression, state)]
    if not found:
        return _unread(writes, expression, text, row)
    chosen = own or [state for state in found if _base(writes, state) == _base(writes, found[0])]
    first = max(chosen, key=lambda state: graph.at("ts", state.row))
    name = _base(writes, first)
    others = tuple(dict.fromkeys(base for state in found if (base := _base(writes, state)) != name))
    if first.stored is not None:
        return replace(_stored(graph, first, row, text), others=others)
    if first.by_name:
        by_name = _by_name(graph, name, "The object is not known: these are the writes of every object.")
        return StateAt(name, by_name.history, -1, row, None, others, by_name.note)
    history = _history(writes, chosen, row)
    note = "" if own else f"{text} is not a state itself. Its value depends on {name}."
    last = expression.path.steps[-1] if expression.path is not None and expression.path.steps else None
    is_item = last is not None and last.form == "item"
    if (is_item or not own) and any(state.unsure_item for state in chosen):
        note = f"{note} Which item of {name} was read is not known.".lstrip()
        return StateAt(name, history, -1, row, None, others, note)
    named_item = last is not None and is_item and last.name
    before = writes.before(list(history.rows), row)
    marked = first.row if named_item or not before else before[-1]
    seen = next((state for state in found if state.row == marked), None)
    return StateAt(name, history, marked, row, seen, others, note)


def state_of_event(graph: ExecutionGraph, event: int) -> StateAt:
    """Return the state that a WRITE event wrote. Raise `ClewError` for any other event."""
    writes = Writes.of(graph)
    if not 0 <= event < len(graph) or graph.at("kind", event) != Kind.WRITE:
        raise ClewError(f"event {event} is not a write")
    read = StateRead("", event, -1, (event,), False, False, "same")
    name = _base(writes, read) or "the container"
    return StateAt(name, _history(writes, [read], event), event)


def state_named(graph: ExecutionGraph, name: str) -> StateAt:
    """Return a state by its name. Raise `ClewError` if none was written."""
    return StateAt(name, history_of(graph, name))


def _is_asked(writes: Writes, expression: Expression, state: StateRead) -> bool:
    """Return whether a state is the one that an expression names, not one on the way to it or behind it."""
    path = expression.path
    if path is None or state.stored is not None:
        return False
    write = writes.at(state.row)
    attribute = next((step.name for step in reversed(path.steps) if step.form == "attribute"), path.root)
    if write.changes_content:
        return path.steps[-1].form == "item" if path.steps else state.name.partition("[")[0] == path.root
    return write.channel.rpartition(" ")[2] == attribute


def _base(writes: Writes, state: StateRead) -> str:
    """Return the name of the attribute, variable, table or key of a state: `Cart.items` for an item of it."""
    if state.stored is not None:
        return StoredStates.of(writes.graph).at(state.row).name
    return state_of(writes, state.row) or state.name.partition("[")[0]


def _stored(graph: ExecutionGraph, read: StateRead, row: int, text: str) -> StateAt:
    """Return the table or key that an expression's value came from, with the write that was read, if it is known."""
    assert read.stored is not None
    name = StoredStates.of(graph).at(read.row).name
    note = f"{text} is not a state itself. Its value depends on {name}."
    is_known = not (read.unsure_item or read.stored.unsure or read.stored.some_row or read.stored.is_other)
    order = stored_claims.order_text(Facts.of(graph), read.stored, read.order).removeprefix("; ")
    if is_known and order:
        note += f" {order[:1].upper()}{order[1:]}."
    if not is_known:
        note += f" Which write of {name} was read is not known."
    return StateAt(name, history_of(graph, name), read.row if is_known else -1, row, note=note)


def _history(writes: Writes, states: list[StateRead], row: int) -> History:
    """Return all writes of the objects whose writes were found: of the same attributes, and of the containers in them."""
    graph = writes.graph
    ns, own, content = graph.at("ts", row), set[int](), set[int]()
    for state in states:
        write = writes.at(state.row)
        same = [writes.at(other) for other in writes.of_object(graph.key(state.row), ns)]
        if write.changes_content:
            content |= {other.row for other in same if other.changes_content}
        else:
            own |= {other.row for other in same if other.channel == write.channel}
    held = with_contents(writes, own)
    rows = sorted({*held.rows, *content}, key=lambda each: (graph.at("ts", each), each))
    return History(graph, tuple(rows), held.objects, held.several)


def _parameter(writes: Writes, sites: list[int], expression: Expression, call: int, row: int) -> StateAt:
    """Return what is known of a parameter: what changed the object that the newest call got, or where its value was written."""
    graph = writes.graph
    assert expression.path is not None
    name = expression.path.root
    key = writes.given(call).get(name, 0)
    changed = writes.of_object(key, graph.at("ts", row)) if key else []
    if changed:
        before = writes.before(changed, row)
        owner = writes.classes.get(key, "")
        note = f"These are all changes of the {owner or 'object'} that the newest call got as {name}."
        return StateAt(name, History(graph, tuple(changed)), before[-1] if before else -1, row, note=note)
    kept = [each for each in writes.rows if graph.function_site(each) in sites and _keeps(writes, each, name)]
    if not kept:
        raise ClewError(
            f"no value of {name} was recorded: it is a parameter of {claims.short(graph.sites[sites[0]].qualname)}, and no "
            "attribute or variable got its value there"
        )
    note = f"These are the writes of {claims.short(graph.sites[sites[0]].qualname)} that kept the value of {name}."
    return StateAt(name, History(graph, tuple(kept)), kept[-1], row, note=note)


def _keeps(writes: Writes, row: int, parameter: str) -> bool:
    """Return whether a write assigned a parameter as it is."""
    function, line = (
        writes.graph.sites[writes.graph.function_site(row)],
        writes.graph.sites[writes.graph.at("site", row)].line,
    )
    source = writes.source_of(function.file)
    return source is not None and source.assigned(function.line, line).parameter == parameter


def _unread(writes: Writes, expression: Expression, text: str, row: int) -> StateAt:
    """Return the history of a state that was not written before the newest call ended."""
    path = expression.path
    attribute = (
        next((step.name for step in reversed(path.steps) if step.form == "attribute"), path.root) if path else ""
    )
    if attribute and any(name.rpartition(".")[2] == attribute for name in states_of(writes)):
        later = _by_name(writes.graph, attribute, "No recorded write precedes the end of the newest call.")
        return StateAt(later.name, later.history, -1, row, note=later.note)
    why = "it is a local variable" if path is not None and not path.steps else "clew knows no write of it"
    raise ClewError(f"no value of {text} was recorded: {why}, and its value comes from no recorded write")


def _by_name(graph: ExecutionGraph, text: str, note: str) -> StateAt:
    name = text if "[" not in text else text.partition("[")[0]
    known = states_of(Writes.of(graph))
    name = name if name in known else name.rpartition(".")[2]
    return StateAt(name, history_of(graph, name), note=note)


def _values(graph: ExecutionGraph, sites: list[int], name: str) -> tuple[int, ...]:
    """Return the recorded values of a name in calls of a function, by time."""
    rows = [row for row in graph.rows_of([Kind.PAYLOAD], name).tolist() if graph.function_site(row) in sites]
    return tuple(sorted(rows, key=lambda row: (graph.at("ts", row), row)))


def _newest_call(graph: ExecutionGraph, sites: list[int]) -> int:
    """Return the ENTER of the newest call of a function, -1 for none."""
    rows = graph.rows_of([Kind.ENTER])
    rows = rows[np.isin(graph.site[rows], sites)]
    return int(rows[np.argmax(graph.ts[rows])]) if len(rows) else -1


def _row_of_line(graph: ExecutionGraph, call: int, line: int) -> int:
    """Return the row up to which a call had run when it executed a line last, as far as its own writes tell.

    This is the first of its writes at a later line that follows all writes at the line and before, else its end.
    """
    exit_ = graph.exit_of(call)
    end = exit_ if exit_ >= 0 else graph.strand_of(call).stop - 1
    function = graph.sites[graph.at("site", call)]
    inside = [
        number
        for number, site in enumerate(graph.sites)
        if site.file == function.file and function.line <= site.line <= function.end_line
    ]
    within = slice(call + 1, end)
    rows = call + 1 + np.flatnonzero((graph.kind[within] == Kind.WRITE) & np.isin(graph.site[within], inside))
    own = [(row, graph.sites[graph.at("site", row)].line) for row in rows.tolist() if graph.owner_of(row) == call]
    last = max((row for row, at in own if at <= line), default=call)
    return min((row for row, at in own if at > line and row > last), default=end)


def sites_of(graph: ExecutionGraph, site: Site) -> list[int]:
    """Return the numbers of a function in all processes of a run."""
    return [
        number
        for number, other in enumerate(graph.sites)
        if (other.file, other.line, other.qualname, other.kind) == (site.file, site.line, site.qualname, site.kind)
    ]
