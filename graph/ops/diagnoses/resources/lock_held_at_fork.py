"""Find a lock that another thread held when the process was forked: in the child nobody gives it back.

The wait must have failed after at least 1 ms. A fork copies only the thread that called it. So a holder that took the lock in
the parent process is either the forking thread itself or a thread that does not exist in the child; a wait of the forking
thread's own copy is left to `retaken-by-holder`.
"""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.significance import failed_waits, victims
from clew.graph.ops.facts.blockers import Blockers
from clew.graph.ops.facts.columns.records import is_shared
from clew.graph.ops.facts.facts import Facts, Holding, Waiting
from clew.records.format.event import Kind

KIND = "lock-held-at-fork"


def find(facts: Facts) -> list[Finding]:
    blockers = Blockers.of(facts)
    found: dict[tuple[int, int, int], Finding] = {}
    for wait in failed_waits(facts):
        for holding, _basis in blockers.holders(wait, wait.begin.ns):
            if _is_before_fork(facts, wait, holding):
                found.setdefault((*wait.resource, wait.strand), _finding(facts, wait, holding))
    return list(found.values())


def _is_before_fork(facts: Facts, wait: Waiting, holding: Holding) -> bool:
    if holding.before_fork:
        return True
    if is_shared(wait.begin.channel):
        return False  # the fork copied no lock: both processes have the same one
    return holding.strand >= 0 and facts.graph.strands[holding.strand].process != wait.begin.process


def _finding(facts: Facts, wait: Waiting, holding: Holding) -> Finding:
    child = facts.graph.processes[wait.begin.process]
    parent = next((each for each in facts.graph.processes if each.uid == holding.before_fork), None)
    where = f"process {parent.pid}" if parent is not None else "the parent process"
    forks = _forks(facts, wait)
    at = f" at {words.offset(facts.graph.at('ts', forks[0]))}" if forks else ""
    number = "" if words.is_process(facts, wait.strand) else f" {child.pid}"
    claims = (
        Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}, in the forked process{number}.", wait.rows),
        Claim(
            f"{words.held(facts, holding, wait)}, a thread of {where}, when the fork{at} copied the lock.",
            (*holding.rows, *forks),
        ),
        Claim(_nobody(facts, holding, forks), (*holding.rows, *forks)),
    )
    harmed = victims(facts, [wait]) + tuple(
        Victim(facts.graph.at("strand", row), row, -1) for row in forks if facts.graph.at("strand", row) != wait.strand
    )
    return Finding(KIND, Reason.RESOURCE, claims, harmed)


def _nobody(facts: Facts, holding: Holding, forks: tuple[int, ...]) -> str:
    if any(facts.graph.at("strand", row) == holding.strand for row in forks):
        return "It forked while it held the lock, so its copy in the child holds the lock from the start."
    return "That thread does not exist in the child, so the lock is never given back there."


def _forks(facts: Facts, wait: Waiting) -> tuple[int, ...]:
    """Return the row that started the child process, if it was recorded."""
    graph = facts.graph
    channel = graph.channel_ids.get("process.start", -1)
    for at in (graph.edge_channel == channel).nonzero()[0].tolist():
        target = int(graph.edge_dst[at])
        if graph.process_of(target).index == wait.begin.process and graph.at("kind", target) == Kind.JOIN:
            return (int(graph.edge_src[at]),)
    return ()
