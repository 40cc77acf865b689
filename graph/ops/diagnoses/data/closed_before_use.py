"""Find uses of an object after it was closed: a file, loop, executor, pool, queue or connection.

The failure shows it: the exception's type or message says so. The closing call is named if one recorded call closes an
object of a class that failed, and no other did before; that the objects are the same is inferred.
"""

from __future__ import annotations

import re

import numpy as np

from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.diagnoses.words import exception, offset, seconds, site_place, where, who
from clew.graph.ops.facts.facts import Fact, Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_

KIND = "closed-before-use"
_EXECUTOR = "an executor"
_MAIN = "MainThread"
_THINGS = (
    (re.compile(r"I/O operation on closed file|read of closed file|write to closed file"), "a file"),
    (re.compile(r"Event loop is closed"), "an event loop"),
    (re.compile(r"cannot schedule new futures after (interpreter )?shutdown"), _EXECUTOR),
    (re.compile(r"^(Pool not running|Pool is closed)|pool (is|has been) closed|pool is closing", re.I), "a pool"),
    (re.compile(r"[Qq]ueue .{0,80}is closed"), "a queue"),
    (re.compile(r"Cannot operate on a closed (database|cursor)"), "a database connection"),
    (re.compile(r"^handle is closed|the handler is closed|underlying .{0,20}is closed", re.I), "a connection"),
    (re.compile(r"\b(client|session|connector|connection|cursor|channel|stream|store|socket|writer|transport)s? "
                r"(is|has been|was|is already|already) (closed|shut down)", re.I), ""),
    (re.compile(r"after (it|the \w+) (was|has been|is) (closed|shut down)", re.I), ""),
    (re.compile(r"Bad file descriptor"), "a descriptor"),
)  # fmt: skip
_WORDS = r"(?i)closed|closing|shut ?down|not running|bad file descriptor"
"""One of these is in each text that one of the patterns above matches."""
_TYPES = {
    "queue.ShutDown": "a queue",
    "asyncio.queues.QueueShutDown": "a queue",
    "asyncio.QueueShutDown": "a queue",
    "anyio.ClosedResourceError": "a stream",
    "concurrent.futures.process.BrokenProcessPool": "",
}
_BY_PEER = re.compile(r"by (the )?(remote|peer|server|host|other)|unexpectedly|reset", re.I)
_CLOSERS = frozenset({
    "close", "aclose", "shutdown", "__exit__", "__aexit__", "__del__", "dispose", "terminate", "disconnect", "stop",
    "cleanup",
})  # fmt: skip
_ROLES = ("raised", "handled", "ended", "unretrieved")


def find(facts: Facts) -> list[Finding]:
    """Return the uses of closed objects, one for each exception."""
    firsts: dict[tuple[int, int, str], Fact[Exception_]] = {}
    for fact in _candidates(facts):
        if fact.text.role in _ROLES and _thing(fact):
            known = firsts.setdefault((*fact.resource, fact.channel), fact)
            if not known.text.at and fact.text.at:
                firsts[*fact.resource, fact.channel] = fact
    if not firsts:
        return []
    closings = _closing_calls(facts)
    return [_finding(facts, fact, closings) for fact in firsts.values()]


def _candidates(facts: Facts) -> list[Fact[Exception_]]:
    """Return all records of exceptions of which a record may say that something was closed, by time."""
    exceptions = facts.exceptions
    telling = exceptions.take(exceptions.mention(_WORDS) | exceptions.of_types(_TYPES.__contains__))
    resources = {fact.resource for fact in telling}
    found = [fact for resource in resources for fact in exceptions.of(*resource)]
    return sorted(found, key=lambda fact: (fact.ns, fact.row))


def _thing(fact: Fact[Exception_]) -> str:
    """Return what was closed, such as "a file", "" if the exception does not say that anything was."""
    message = fact.text.message
    if _TYPES.get(fact.channel):
        return _TYPES[fact.channel]
    if not message or _BY_PEER.search(message) or fact.channel.rpartition(".")[2].startswith("Connection"):
        return ""
    for pattern, thing in _THINGS:
        found = pattern.search(message)
        if found:
            return thing or _named(found[0])
    return ""


def _named(text: str) -> str:
    word = re.match(r"(?:after )?(?:the )?(\w+)", text)
    name = word[1].lower() if word else "object"
    name = "object" if name in ("it", "after") else name
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _closing_calls(facts: Facts) -> dict[str, list[int]]:
    """Return the ENTER rows of recorded calls that close an object, by the name of its class, in the order of time."""
    graph = facts.graph
    sites = [
        index
        for index, site in enumerate(graph.sites)
        if site.qualname.rpartition(".")[2] in _CLOSERS and "." in site.qualname
    ]
    rows = graph.rows_of([Kind.ENTER])
    rows = rows[np.isin(graph.site[rows], sites)]
    found: dict[str, list[int]] = {}
    for row in rows[np.argsort(graph.ts[rows], kind="stable")].tolist():
        found.setdefault(_class_of(graph.sites[graph.at("site", row)].qualname), []).append(row)
    return found


def _class_of(function: str) -> str:
    """Return `Store` for `Store.close`, "" for a plain function."""
    owner = function.rpartition(".")[0].rpartition(".<locals>.")[2]
    return "" if owner.endswith("<locals>") else owner


def _finding(facts: Facts, fact: Fact[Exception_], closings: dict[str, list[int]]) -> Finding:
    thing = _thing(fact)
    at = where(fact.text.at, facts)
    used = Claim(
        f"{who(facts, fact.strand)} used {thing} after it was closed{f' in {at}' if at else ''}: {exception(fact)}.",
        (fact.row,),
    )
    victims = (Victim(fact.strand, fact.row, -1),)
    closer = _closer(facts, fact, closings)
    if closer < 0:
        basis = "the exception's type and message"
        ended = _main_returned(facts, fact) if thing == _EXECUTOR else None
        if ended is not None:
            return Finding(
                KIND, Reason.DATA, (used, ended), victims, "inferred", f"{basis}, and the main thread's last call"
            )
        unknown = Claim("The record does not show who closed it.", (fact.row,))
        return Finding(KIND, Reason.DATA, (used, unknown), victims, "inferred", basis)
    graph = facts.graph
    name = graph.sites[graph.at("site", closer)].qualname
    ns = graph.at("ts", closer)
    caller = graph.enclosing_call(closer)
    called = in_brackets(place(facts, caller)) if caller >= 0 else ""
    closed = Claim(
        f"{who(facts, graph.at('strand', closer))} had called {name} at {offset(ns)}{called}, {seconds(fact.ns - ns)} earlier.",
        (closer,),
    )
    basis = f"the exception, and the only call of {name} before it; that both concern one object was not recorded"
    return Finding(KIND, Reason.DATA, (used, closed), victims, "inferred", basis)


def _main_returned(facts: Facts, fact: Fact[Exception_]) -> Claim | None:
    """Return the sentence about a main thread that was in no recorded call at a use, None if it was in one."""
    graph = facts.graph
    main = [each for each in graph.strands if (each.process, each.kind, each.name) == (fact.process, "thread", _MAIN)]
    rows = np.concatenate([np.arange(0), *(np.arange(each.start, each.stop) for each in main)])
    rows = rows[np.isin(graph.kind[rows], (Kind.ENTER, Kind.EXIT, Kind.UNWIND)) & (graph.ts[rows] <= fact.ns)]
    end = int(rows[-1]) if len(rows) else -1
    if end < 0 or graph.at("kind", end) == Kind.ENTER or graph.at("inner", end) >= 0:
        return None
    site = site_place(graph.sites[graph.at("site", end)])
    text = f"Python shuts executors down when the main thread ends, whose last recorded call ({site}) had returned at"
    return Claim(f"{text} {offset(graph.at('ts', end))}.", (end, fact.row))


def _closer(facts: Facts, fact: Fact[Exception_], closings: dict[str, list[int]]) -> int:
    """Return the only earlier call that closes an object of a class whose method failed, -1 for none or several."""
    graph = facts.graph
    classes = {_class_of(frame.function) for frame in fact.text.at}
    around = graph.with_callers(graph.enclosing_call(fact.row))
    classes |= {_class_of(graph.sites[graph.at("site", call)].qualname) for call in around}
    classes.discard("")
    process = graph.process_of(fact.row).index
    rows = [
        row
        for name in classes
        for row in closings.get(name, ())
        if graph.at("ts", row) <= fact.ns and graph.process_of(row).index == process
    ]
    rows = [row for row in rows if not _inside(facts, row, fact)]
    # `__exit__` may call `close`: that is one close.
    rows = [row for row in rows if set(rows).isdisjoint(graph.with_callers(graph.enclosing_call(row)))]
    return rows[0] if len(rows) == 1 else -1


def _inside(facts: Facts, closing: int, fact: Fact[Exception_]) -> bool:
    """Return whether the failure happened inside the closing call itself."""
    if facts.graph.at("strand", closing) != fact.strand:
        return False
    end = facts.graph.exit_of(closing)
    return end < 0 or fact.row <= end
