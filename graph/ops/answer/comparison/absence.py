"""Answer why something did not happen: where one execution parted from like ones in which it did, and what diverted it.

Invariant: what was expected is only what like executions did, of this run or of a baseline.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.answer.answer import Answer
from clew.graph.ops.answer.comparison.diversions import Parting, diversions
from clew.graph.ops.answer.comparison.executions import (
    Execution,
    Step,
    first_function,
    numbers_in,
    occurrences,
    requests_of,
    step_text,
    strands_of,
)
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.unfollowed import limits
from clew.graph.ops.facts.work.work_units import request_of
from clew.records.format.event import Kind

USUAL = 0.9
"""A step is usual if this share of the like executions with the text has it before the text."""


@dataclass(frozen=True)
class _Asked:
    text: str
    here: list[int]
    """Where it happens in this run."""
    baseline: OpenRun | None


def absence(
    run: OpenRun, text: str, *, event: int | None = None, request: str = "", baseline: OpenRun | None = None
) -> Answer:
    """Answer why `text` did not happen in the request or strand of an event, else in the newest one concerned.

    `text` is a part of a line, or the name of a function. `request` limits the choice to requests of a name.
    """
    graph = run.graph
    here = occurrences(graph, text)
    if event is not None:
        mine, kind = _of_event(run, event)
        return _in_execution(_Asked(text, here, baseline), mine, kind)
    kinds = [(True, request)] if request else _kinds(baseline.graph if baseline else graph, text)
    likes = [requests_of(run, name) if is_request else strands_of(run, name) for is_request, name in kinds]
    happened = [like for group in likes for like in group if _first(like, here)]
    without = [(like, group) for group in likes for like in group if not _first(like, here)]
    numbers = numbers_in(text)
    if happened and (not without or (numbers and len(happened) == 1 and baseline is None)):
        return _happened(max(happened, key=_began), happened, here)
    named = [(like, group) for like, group in without if like.names(numbers)] if numbers else []
    if without:
        chosen = max(named or without, key=lambda choice: _began(choice[0]))
        return _in_execution(_Asked(text, here, baseline), *chosen)
    return _never(graph, text, here, request, baseline)


def _happened(newest: Execution, all_: list[Execution], here: list[int]) -> Answer:
    row = _first(newest, here)[0]
    if len(all_) == 1:
        claim = f"It happened in {newest.what}, at {_time(newest.graph, row)}: {step_text(newest.graph, row)}."
    else:
        claim = f"It happened in all {_many(newest, len(all_))}, at last at {_time(newest.graph, row)}."
    return _answer(row, [Claim(claim, (row,))])


def _many(like: Execution, number: int) -> str:
    """Return `5 requests order`, or `1 strand that runs consume`."""
    if like.is_request:
        return f"{number:,} request{'s' * (number != 1)} {_plain(like)}"
    return f"{number:,} {'strands that run' if number != 1 else 'strand that runs'} {_plain(like)}"


def _of_event(run: OpenRun, event: int) -> tuple[Execution, list[Execution]]:
    graph = run.graph
    row = request_of(graph, event)
    if row >= 0:
        likes = requests_of(run, graph.channel(row))
        found = next((like for like in likes if like.root == row), None)
        if found is not None:
            return found, likes
    strand = graph.at("strand", event)
    likes = strands_of(run, first_function(graph, strand))
    start = graph.strands[strand].start
    found = next((like for like in likes if like.root == start), None)
    return found or Execution(graph, "", False, start, (), frozenset({strand})), likes


def _kinds(graph: ExecutionGraph, text: str) -> list[tuple[bool, str]]:
    """Return the kinds of executions in which the text happens: requests by name, else strands by their function."""
    requests, strands = Counter[str](), Counter[str]()
    for row in occurrences(graph, text):
        request = request_of(graph, row)
        if request >= 0:
            requests[graph.channel(request)] += 1
        elif function := first_function(graph, graph.at("strand", row)):
            strands[function] += 1
    return [(True, name) for name in requests] or [(False, name) for name in strands]


def _in_execution(asked: _Asked, mine: Execution, likes: list[Execution]) -> Answer:
    """Answer for one execution. `likes` are those of this run."""
    graph, text, here, baseline = mine.graph, asked.text, asked.here, asked.baseline
    if limited := limits(graph, [mine.root, *mine.rows[:1]]):
        claim = Claim("Which steps are its own is not known.", (mine.root,))
        return Answer(mine.root, (claim,), "unknown", "execution was not followed", limits=limited)
    if own := _first(mine, here):
        return _happened(mine, [mine], own)
    known, there = here, "here"
    if baseline is not None:
        known, there = occurrences(baseline.graph, text), f"in the baseline {baseline.info.name}"
        likes = requests_of(baseline, mine.name) if mine.is_request else strands_of(baseline, mine.name)
    having = [(like, _first(like, known)[0]) for like in likes if _first(like, known)]
    if not having:
        which = "request" if mine.is_request else "strand"
        nothing = (
            f"no {which} {_plain(mine)} {there} has it" if likes else f"there is no {which} {_plain(mine)} {there}"
        )
        return _unknown(mine.root, f"What was expected is not known: {nothing}.", text, baseline)
    usual = _usual(having)
    parting = _parting(mine, usual)
    before = _step_before(having)
    after = f", after {step_text(having[-1][0].graph, before)}" if before >= 0 else ""
    shown = tuple(row for _, row in having[-3:]) if baseline is None else ()
    few = "only " if 2 * len(having) < len(likes) else ""
    claims = [Claim(f"{text!r} happens in {few}{len(having):,} of {_many(mine, len(likes))} {there}{after}.", shown)]
    facts = Facts.of(graph)
    claims.append(_parted(facts, mine, parting, usual, having))
    finding = _finding(facts, mine, parting)
    if finding is not None:
        claims += finding.claims
    sure = "recorded" if finding is not None and finding.certainty == "recorded" else "inferred"
    basis = "" if sure == "recorded" else f"the steps of {_many(mine, len(having))} with it"
    return Answer(parting.row, tuple(claims), "recorded" if sure == "recorded" else "inferred", basis, finding=finding)


def _usual(having: list[tuple[Execution, int]]) -> list[Step]:
    """Return the steps that come before the text in nearly all like executions, in their usual order."""
    places: dict[Step, list[int]] = {}
    for like, row in having:
        seen: set[Step] = set()
        for number, (at, step) in enumerate(zip(like.rows, like.steps, strict=True)):
            if at == row:
                break
            if step not in seen:
                seen.add(step)
                places.setdefault(step, []).append(number)
    least = math.ceil(USUAL * len(having))
    common = {step: sorted(numbers) for step, numbers in places.items() if len(numbers) >= least}
    return sorted(common, key=lambda step: common[step][len(common[step]) // 2])


def _parting(mine: Execution, usual: list[Step]) -> Parting:
    last = {step: row for row, step in zip(mine.rows, mine.steps, strict=True)}
    row = mine.root
    for step in usual:
        if step not in last:
            return Parting(row, step)
        row = last[step]
    return Parting(row, None)


def _step_before(having: list[tuple[Execution, int]]) -> int:
    """Return the row of the step right before the text in the newest like execution, in the text's own strand if any."""
    like, row = having[-1]
    strand = like.graph.at("strand", row)
    before = like.rows[: like.rows.index(row)]
    own = [at for at in before if like.graph.at("strand", at) == strand]
    return (own or list(before) or [-1])[-1]


def _parted(
    facts: Facts, mine: Execution, parting: Parting, usual: list[Step], having: list[tuple[Execution, int]]
) -> Claim:
    graph = facts.graph
    begin = f"{mine.what[:1].upper()}{mine.what[1:]} went as usual until {_point(graph, mine, parting.row)}"
    expected = _expected(parting, having)
    for text, rows in diversions(facts, mine, parting, having):
        return Claim(f"{begin}; then {text}{expected}.", (parting.row, *rows))
    end = "it has not continued" if _is_open(graph, mine) else "it ended"
    return Claim(f"{begin}; after that {end}, and nothing unusual was recorded{expected}.", (parting.row,))


def _point(graph: ExecutionGraph, mine: Execution, row: int) -> str:
    at = _time(graph, row)
    return f"its start at {at}" if row == mine.root else f"{step_text(graph, row)} at {at}"


def _expected(parting: Parting, having: list[tuple[Execution, int]]) -> str:
    if parting.expected is None:
        return ""
    like, _ = having[-1]
    row = next((row for row, step in zip(like.rows, like.steps, strict=True) if step == parting.expected), -1)
    return f", where others continue with {step_text(like.graph, row)}" if row >= 0 else ""


def _is_open(graph: ExecutionGraph, mine: Execution) -> bool:
    call = graph.call_of(mine.root) if mine.is_request else next(iter(mine.rows), -1)
    if call < 0 or graph.at("kind", call) != Kind.ENTER:
        return False
    return graph.exit_of(call) < 0


def _finding(facts: Facts, mine: Execution, parting: Parting) -> Finding | None:
    """Return the finding about a wait or another event of this execution after it parted from the others."""
    graph = facts.graph
    begin, end = graph.at("ts", parting.row), mine.end_ns
    for finding in sorted(findings(facts), key=lambda finding: finding.reason):
        for victim in finding.victims:
            if victim.strand not in mine.strands:
                continue
            last = victim.last if victim.last >= 0 else graph.strands[victim.strand].stop - 1
            if graph.at("ts", victim.first) <= end and graph.at("ts", last) >= begin:
                return finding
    return None


def _never(graph: ExecutionGraph, text: str, here: list[int], request: str, baseline: OpenRun | None) -> Answer:
    if request and request not in {graph.channel(row) for row in graph.rows_of([Kind.REQUEST]).tolist()}:
        return _unknown(0, f"There is no request {request} in this run.", text, baseline)
    if here:
        claim = f"{text!r} happened at {_time(graph, here[-1])}, outside of a request and of any function that was recorded."
        return _answer(here[-1], [Claim(claim, (here[-1],))])
    where = (
        f"in this run, nor in the baseline {baseline.info.name}" if baseline else "in any request or strand of this run"
    )
    return _unknown(0, f"{text!r} never happens {where}, so that nothing tells when it should have.", text, baseline)


def _unknown(event: int, claim: str, text: str, baseline: OpenRun | None) -> Answer:
    remedy = "" if baseline else f"clew why --not {text!r} --baseline RUN"
    basis = "no like execution with it was recorded"
    return Answer(event, (Claim(claim, ()),), "unknown", basis, remedy)


def _answer(event: int, claims: list[Claim]) -> Answer:
    return Answer(event, tuple(claims), "recorded")


def _first(execution: Execution, rows: list[int]) -> list[int]:
    """Return the steps of an execution that are among some rows, in order."""
    known = set(rows)
    return [row for row in execution.rows if row in known]


def _began(execution: Execution) -> int:
    return execution.graph.at("ts", execution.root)


def _plain(execution: Execution) -> str:
    return execution.name.rpartition(":")[2] or "without a recorded call"


def _time(graph: ExecutionGraph, row: int) -> str:
    return words.offset(graph.at("ts", row))
