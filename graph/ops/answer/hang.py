"""Answer who waits for whom, now or when the run ended: circles, strands that cannot continue, and those that wait for work.

Invariant: a strand that waits for work, or for others that run, is idle. Only a finding about a wait that has not ended
makes a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from clew.graph.model.graph import ExecutionGraph, Process
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.records.format.event import Kind
from clew.records.format.facts import Frame

BRIEF_NS = 1_000_000_000
"""In a live run, a shorter wait is not told as one that blocks: contention is normal."""
_LIBRARIES = ("asyncio.", "anyio.", "multiprocessing.", "sqlite.")
_GIVEN_BACK = frozenset({"lock", "rlock", "semaphore", "barrier", "limiter"})
"""The mechanisms of `is_given_back`, without their library."""
ORDER = {"blocked": 0, "waiting": 1, "idle": 2, "brief": 3}
_PUTTING = frozenset({"put", "join"})

_WORK = frozenset({
    "queue", "asyncio.queue", "asyncio.sleep", "asyncio.stream", "multiprocessing.queue", "multiprocessing.pipe"
})  # fmt: skip
"""Mechanisms of waits for work, time or input."""

State = Literal["blocked", "waiting", "idle", "brief"]
"""`blocked`: another strand has to give something back or to end. `waiting`: for a wake-up, which may or may not come.
`idle`: for work, for time, or for others that run. `brief`: not for long enough to tell."""


@dataclass(frozen=True)
class Holding:
    """Who holds what a strand waits for, or whose end it awaits."""

    who: str
    text: str
    """`refund took it 2 s before (transfer, bank.py:8)`, as of when the wait began; "" for a strand whose end is awaited."""
    inferred: bool = False


@dataclass(frozen=True)
class Blocked:
    """A strand that waits."""

    who: str
    process: int
    """The PID."""
    what: str
    """What it waits for, in the program's own words."""
    mechanism: str
    where: str
    waited_ns: int
    """For how long, -1 when unknown."""
    limit: float | None
    state: State
    holders: tuple[Holding, ...] = ()
    frames: tuple[Frame, ...] = ()
    events: tuple[int, ...] = ()


@dataclass(frozen=True)
class Hang:
    """The answer. `verdict` is empty when nothing hangs, or when no cause was found."""

    waits: tuple[Blocked, ...]
    """All waits by their state, the longest first."""
    circles: tuple[tuple[str, ...], ...] = ()
    """The strands of each circle, in which each waits for the next one, and the last one for the first."""
    verdict: tuple[Claim, ...] = ()
    certainty: Literal["recorded", "inferred"] = "recorded"
    basis: str = ""
    """What an inferred verdict was inferred from."""
    findings: tuple[Finding, ...] = ()

    @property
    def blocked(self) -> tuple[Blocked, ...]:
        return tuple(wait for wait in self.waits if wait.state == "blocked")


def hang(graph: ExecutionGraph, ends: dict[int, int], *, brief_ns: int = 0, pids: Iterable[int] = ()) -> Hang:
    """Return who waits for whom.

    `ends` has the time until which each process waits, in ns since the run's start, without those of which it is unknown.
    A wait of less than `brief_ns` blocks nobody, unless it is in a circle. With `pids`, only waits of these processes are
    returned.
    """
    facts = Facts.of(graph)
    facts.observe_until(max(ends.values(), default=0))
    wanted = set(pids)
    open_ = _open_waits(facts, wanted)
    edges = {strand: _edges(facts, waits) for strand, waits in open_.items()}
    circles = circles_of(edges)
    in_circle = {strand for circle in circles for strand in circle}
    ages = {
        strand: ends.get(waits[0].begin.process, facts.last_ns) - waits[0].begin.ns for strand, waits in open_.items()
    }
    found = _findings(facts, open_, in_circle | {strand for strand, age in ages.items() if age >= brief_ns})
    victims = {victim.strand for finding in found for victim in finding.victims}
    brief = {strand for strand, age in ages.items() if age < brief_ns} - in_circle
    stuck = _stuck(open_, edges, (victims | in_circle) & set(open_), brief)
    made = []
    for strand, waits in open_.items():
        state: State = "brief" if strand in brief else "blocked" if strand in stuck else "waiting"
        if state == "waiting" and (waits[0].begin.channel in _WORK or waits[0].begin.text.target):
            state = "idle"
        waited_ns = max(ages[strand], 0) if waits[0].begin.process in ends else -1
        made.append(_told(facts, waits[0], edges[strand], waited_ns, state))
    made.sort(key=lambda wait: (ORDER[wait.state], -wait.waited_ns))
    certain = not found or found[0].certainty == "recorded"
    return Hang(
        tuple(made),
        tuple(tuple(words.who(facts, strand) for strand in circle) for circle in circles),
        found[0].claims if found else (),
        "recorded" if certain else "inferred",
        found[0].inferred_from if found else "",
        tuple(found),
    )


def until(graph: ExecutionGraph, now_ns: int, *, live: bool) -> dict[int, int]:
    """Return the time until which each process waited: now if it is recorded, else the end of its recording.

    `now_ns` is in ns since the run's start: the present time for a live run, else the end of the run. A process that was
    killed waited until then if it was the first one; others are left out, since the time of the kill is unknown.
    """

    def end(process: Process) -> int:
        goes_on = live and process.end not in ("closed", "went on")
        return max(now_ns, process.last_ns) if goes_on or process.died else process.last_ns

    known = (process for process in graph.processes if not process.died or process.index == 0)
    return {process.index: end(process) for process in known}


def pids_of_test(graph: ExecutionGraph, test: str) -> set[int]:
    """Return the process that ran a test last, and those that it started; {0} if the test was not recorded."""
    rows = graph.rows_of([Kind.REQUEST], test).tolist()
    if not rows:
        return {0}
    first = graph.processes[graph.strand_of(max(rows, key=lambda row: graph.at("ts", row))).process]
    uids = {first.uid}
    while more := {process.uid for process in graph.processes if process.parent_uid in uids} - uids:
        uids |= more
    return {process.pid for process in graph.processes if process.uid in uids}


def _open_waits(facts: Facts, pids: set[int]) -> dict[int, list[Waiting]]:
    """Return the waits of each strand that have not ended, the outermost first."""
    graph, ends = facts.graph, Ends.of(facts)
    found: dict[int, list[Waiting]] = {}
    for wait in facts.waits.take(~facts.waits.has_end):
        process = graph.processes[wait.begin.process]
        if process.end == "went on" or (pids and process.pid not in pids) or ends.row_of(wait.strand) >= 0:
            continue
        if not _went_on(graph, wait):
            found.setdefault(wait.strand, []).append(wait)
    # The strand that waited first in the run comes first.
    return dict(sorted(found.items(), key=lambda item: int(facts.waits_of[item[0]].places[0])))


def _went_on(graph: ExecutionGraph, wait: Waiting) -> bool:
    """Return whether the call that waited has ended, so that the wait is over although no record says so."""
    call = graph.at("call", wait.begin.row)
    return call >= 0 and graph.exit_of(call) > wait.begin.row


def _edges(facts: Facts, waits: list[Waiting]) -> dict[int, Holding]:
    """Return the strands that the waits of a strand depend on, each with words about it; -1 is an unknown strand."""
    found: dict[int, Holding] = {}
    for wait in waits:
        begin = wait.begin
        if begin.text.target:
            target = facts.strand_with_key(begin.process, begin.text.target)
            target = target if target >= 0 else facts.thread_with_serial(begin.process, begin.text.target)
            name = words.who(facts, target) if target >= 0 else begin.text.name or words.who(facts, -1)
            found.setdefault(target, Holding(name, ""))
        known = facts.holdings_of.of(*begin.resource)
        if known:
            for holding in known.take(known.is_open):
                since = words.seconds(begin.ns - holding.since_ns)
                found.setdefault(holding.strand, _holding(facts, holding.strand, "", since, holding.at))
            continue
        for holder in begin.text.holders:
            since = words.seconds(holder.held_ns) if holder.held_ns >= 0 else ""
            strand = facts.strand_of(begin.process, holder)
            found.setdefault(strand, _holding(facts, strand, holder.name, since, holder.at))
    return found


def _holding(facts: Facts, strand: int, name: str, since: str, at: tuple[Frame, ...]) -> Holding:
    who = name if strand < 0 and name else words.who(facts, strand)
    place = words.where(at, facts)
    took = f"{who} took it {since} before" if since else f"{who} held it"
    return Holding(who, took + (f" ({place})" if place else ""))


def circles_of(edges: dict[int, dict[int, Holding]]) -> list[tuple[int, ...]]:
    """Return the circles of strands that wait for each other, each once."""
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for start, first in edges.items():
        if any(start in circle for circle in found):
            continue
        path, seen = [start], {start}
        stack = [iter(first)]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                path.pop()
            elif following == start:
                found.setdefault(frozenset(path), tuple(path))
                break
            elif following in edges and following not in seen:
                seen.add(following)
                path.append(following)
                stack.append(iter(edges[following]))
    return list(found.values())


def _findings(facts: Facts, open_: dict[int, list[Waiting]], long_enough: set[int]) -> list[Finding]:
    """Return the findings that explain a wait that has not ended, the best first."""

    def explains(finding: Finding) -> bool:
        for victim in finding.victims:
            for wait in open_.get(victim.strand, ()) if victim.strand in long_enough else ():
                row = wait.begin.row
                if victim.first <= row and (victim.last < 0 or row <= victim.last):
                    return True
        return False

    return sorted((finding for finding in findings(facts) if explains(finding)), key=lambda finding: finding.reason)


def _stuck(
    open_: dict[int, list[Waiting]], edges: dict[int, dict[int, Holding]], first: set[int], brief: set[int]
) -> set[int]:
    """Return the strands that cannot continue before another strand gives something back, ends or continues."""
    stuck = set(first)
    stuck |= {strand for strand, waits in open_.items() if strand not in brief and any(map(_needs_return, waits))}
    changed = True
    while changed:
        more = {strand for strand in open_ if strand not in brief and stuck & set(edges[strand])} - stuck
        stuck |= more
        changed = bool(more)
    return stuck


def is_given_back(channel: str) -> bool:
    """Return whether a mechanism is one of which another strand has to give something before a waiter continues."""
    library = next((each for each in _LIBRARIES if channel.startswith(each)), "")
    return channel.removeprefix(library) in _GIVEN_BACK


def _needs_return(wait: Waiting) -> bool:
    channel, at = wait.begin.channel, wait.begin.text.at
    if is_given_back(channel):
        return True
    return channel.endswith("queue") and bool(at) and at[0].function.rpartition(".")[2] in _PUTTING


def _told(facts: Facts, wait: Waiting, edges: dict[int, Holding], waited_ns: int, state: State) -> Blocked:
    begin = wait.begin
    pid = facts.graph.processes[begin.process].pid
    return Blocked(
        words.who(facts, wait.strand), pid, _what(facts, wait, edges), begin.channel, words.where(begin.text.at, facts),
        waited_ns, begin.text.limit, state, tuple(edges.values()), begin.text.at, wait.rows,
    )  # fmt: skip


def _what(facts: Facts, wait: Waiting, edges: dict[int, Holding]) -> str:
    if wait.begin.text.target and edges:
        return f"the end of {next(iter(edges.values())).who}"
    return words.thing(wait, facts)
