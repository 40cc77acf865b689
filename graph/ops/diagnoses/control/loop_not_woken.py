"""Find tasks that another thread made ready without waking their event loop.

Methods of asyncio's objects, such as `Queue.put_nowait` and `Future.set_result`, may only be called in the loop's own thread.
In another thread they make a task ready, but the loop sleeps until its next timer or message.
"""

from __future__ import annotations

import numpy as np

from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.diagnoses.words import offset, seconds, who
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.loop_steps import HANDLE

KIND = "loop-not-woken"
LATE_NS = 300_000_000
NEAR_NS = 20_000_000
"""What the loop's thread records this close before the late step belongs to its waking up."""
MOST = 50
_BASIS = "the loop's thread, which ran nothing although the task was ready"


def find(facts: Facts) -> list[Finding]:
    """Return the tasks that ran late because nothing woke their loop, the latest first."""
    graph = facts.graph
    threads = np.array([(strand.process, strand.thread) for strand in graph.strands], np.int64).reshape(-1, 2)
    chosen = graph.edge_channel == graph.channel_ids.get(HANDLE, -1)
    sources, targets = graph.edge_src[chosen], graph.edge_dst[chosen]
    origin, loop = threads[graph.strand[sources]], threads[graph.strand[targets]]
    late = graph.ts[targets] - graph.ts[sources]
    foreign = (origin[:, 0] == loop[:, 0]) & (origin[:, 1] != loop[:, 1]) & (late >= LATE_NS)
    order = np.argsort(-late[foreign], kind="stable")[:MOST]
    found: dict[tuple[int, int], Finding] = {}
    for source, target in zip(sources[foreign][order].tolist(), targets[foreign][order].tolist(), strict=True):
        key = (
            graph.at("strand", target),
            graph.at("site", graph.owner_of(source)) if graph.owner_of(source) >= 0 else -1,
        )
        if key not in found and _is_idle(facts, source, target, threads):
            finding = _finding(facts, source, target)
            if finding is not None:
                found[key] = finding
    return list(found.values())


def _is_idle(facts: Facts, source: int, target: int, threads: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> bool:
    """Return whether the target's thread recorded nothing from the source on until right before the target."""
    graph = facts.graph
    begin, end = graph.at("ts", source), graph.at("ts", target) - NEAR_NS
    own = threads[graph.at("strand", target)]
    for number in np.flatnonzero((threads == own).all(axis=1)).tolist():
        strand = graph.strands[number]
        times = graph.ts[strand.start : strand.stop]
        if np.searchsorted(times, begin, "right") < np.searchsorted(times, end):
            return False
    return not _is_running(facts, begin, own.tolist())


def _is_running(facts: Facts, ns: int, thread: list[int]) -> bool:
    """Return whether a task of a thread was in a step at a time, so that the loop was busy and not asleep."""
    graph = facts.graph
    for strand in graph.strands:
        if strand.kind != "task" or [strand.process, strand.thread] != thread or strand.start == strand.stop:
            continue
        at = int(np.searchsorted(graph.ts[strand.start : strand.stop], ns, "right")) - 1
        if at >= 0 and not graph.idle[strand.start + at] and strand.start + at + 1 < strand.stop:
            return True
    return False


def _finding(facts: Facts, source: int, target: int) -> Finding | None:
    graph = facts.graph
    begin, strand = graph.at("ts", source), graph.at("strand", target)
    waits = facts.waits_of.of(strand)
    waits = waits.take((waits.row < target) & (waits.begin_ns <= begin))
    if graph.strands[strand].kind != "task" or not len(waits):
        return None
    wait, late = waits[len(waits) - 1], graph.at("ts", target) - begin
    task, thread = who(facts, strand), graph.strands[strand].thread_name
    maker = f"{who(facts, graph.at('strand', source))} made {task} ready at {offset(begin)}"
    claims = (
        Claim(f"{maker} from another thread{in_brackets(place(facts, source))}.", (source, *wait.rows)),
        Claim(
            f"That did not wake the event loop of {thread}, which ran {task} {seconds(late)} later; "
            "`call_soon_threadsafe` would have.",
            (source, target),
        ),
    )
    return Finding(KIND, Reason.RESOURCE, claims, (Victim(strand, wait.begin.row, -1),), "inferred", _BASIS)
