"""Turn an answer to *why* into data for the panel, lines for a terminal, and Markdown for a ticket.

Invariant: every text of the program is escaped: control characters for the terminal, markup for Markdown.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Literal

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.answer.answer import Answer
from clew.graph.ops.answer.steps import AnswerStep
from clew.graph.ops.diagnoses.finding import Reason
from clew.graph.render.library import library_place
from clew.records.format.event import Kind
from clew.server.protocol.shared import Location
from clew.server.protocol.views.answer import (
    ErrorCause,
    ErrorCauses,
    OtherFinding,
    ReasonStep,
    Verdict,
    VerdictSentence,
)
from clew.server.text import events, units
from clew.server.text.chain import location
from clew.server.text.gaps import clock, on_the_way

_REASONS: dict[Reason, Literal["data", "resource", "control", "call", "scheduling"]] = {
    Reason.DATA: "data",
    Reason.RESOURCE: "resource",
    Reason.CONTROL: "control",
    Reason.CALL: "call",
    Reason.SCHEDULING: "scheduling",
}
MOST_EVENTS = 6
"""The number of event ids that the terminal shows as proof of a verdict."""


def verdict_of(graph: ExecutionGraph, answer: Answer) -> Verdict:
    """Return an answer as data."""
    sentences = [VerdictSentence(sentence(claim.text), list(claim.events)) for claim in answer.verdict]
    further = [*answer.steps[1:], None]
    steps = [_step(graph, step, then, answer.event) for step, then in zip(answer.steps, further, strict=False)]
    others = [
        OtherFinding(other.kind, units.printable(other.text), other.certainty, list(other.events))
        for other in answer.others
    ]
    verdict = Verdict(
        answer.event,
        events.event_title(graph, answer.event),
        sentences,
        answer.certainty,
        certainty_of(answer),
        units.printable(answer.basis),
        answer.remedy,
        answer.finding.kind if answer.finding else "",
        steps,
        answer.more_steps,
        others,
        [units.printable(limit) for limit in answer.limits],
    )
    named = (event for claim in answer.verdict for event in claim.events)
    write = next((event for event in named if graph.at("kind", event) == Kind.WRITE), None)
    return replace(verdict, write=write, markdown=markdown(verdict))


def sentence(text: str) -> str:
    """Return a sentence of an answer for people: with a capital letter, unless it begins with a name of the program."""
    text = units.printable(text)
    return text[0].upper() + text[1:] if text.startswith(("a ", "an ", "the ")) else text


def certainty_of(answer: Answer) -> str:
    """Return `recorded`, `inferred from ...` or `not known: ...`."""
    basis = units.printable(answer.basis)
    match answer.certainty:
        case "recorded":
            return "recorded"
        case "inferred":
            return f"inferred from {basis}" if basis else "inferred"
    return f"not known: {basis}" if basis else "not known"


def _step(graph: ExecutionGraph, step: AnswerStep, then: AnswerStep | None, asked: int) -> ReasonStep:
    corrected = ""
    if step.edge >= 0:
        source = int(graph.edge_src[step.edge])
        corrected, _ = clock(graph.crossing(source, step.target), graph.at("ts", step.target) - graph.at("ts", source))
    return ReasonStep(
        step.event,
        events.shorten(step_title(graph, step)),
        _REASONS[step.reason] if step.event != asked else "",
        units.printable(step.group),
        float(graph.at("ts", step.event)),
        own_location(graph, step.event),
        step.folded,
        corrected,
        _missing(graph, step, then),
    )


def _missing(graph: ExecutionGraph, step: AnswerStep, then: AnswerStep | None) -> list[str]:
    """Return sentences about the gaps between a step and the event of its strand that the next, earlier step led to."""
    target = then.target if then is not None else -1
    first = target if target >= 0 else int(graph.regions.first[graph.region[step.event]]) - 1
    if first >= 0 and graph.at("strand", first) != graph.at("strand", step.event):
        return []
    passed = on_the_way(graph, max(first, 0), step.event)
    return [f"here {gap.text}" for gap in passed.shown] + (
        [f"here {units.count(passed.hidden, 'more gap')}"] if passed.hidden else []
    )


def step_title(graph: ExecutionGraph, step: AnswerStep) -> str:
    """Return the step in words: its own text, else that of the recorded edge, else that of the event."""
    if step.text:
        return step.text
    return tell_edge(graph, step.edge, step.target) if step.edge >= 0 else events.event_title(graph, step.event)


def tell_edge(graph: ExecutionGraph, edge: int, target: int) -> str:
    """Return a sentence about a recorded edge and the event that depended on it, which may be behind library steps."""
    kind, channel = int(graph.edge_kind[edge]), graph.strings[int(graph.edge_channel[edge])]
    return events.edge_title(graph, int(graph.edge_src[edge]), target, kind, channel)


def own_location(graph: ExecutionGraph, event: int) -> Location | None:
    """Return the line of the program where an event happened; for an event in a library, the nearest caller's line."""
    found = location(graph, event)
    if found is None or not library_place(found.path):
        return found
    around = graph.with_callers(graph.enclosing_call(event))
    sites = (graph.sites[graph.at("site", call)] for call in around)
    return next((Location(site.file, site.line) for site in sites if site.file and not library_place(site.file)), found)


def how_sure(verdict: Verdict) -> str:
    """Return the certainty as a line, with the events that prove the verdict or the command that records more."""
    if verdict.certainty == "unknown":
        remedy = f" (`{verdict.remedy}`)" if verdict.remedy else ""
        return f"How sure: {verdict.sure}{remedy}"
    proofs = list(dict.fromkeys(event for sentence in verdict.sentences for event in sentence.events))
    shown = ", ".join(str(event) for event in proofs[:MOST_EVENTS])
    more = f" and {len(proofs) - MOST_EVENTS:,} more" if len(proofs) > MOST_EVENTS else ""
    return f"How sure: {verdict.sure}" + (
        f" ({'event' if len(proofs) == 1 else 'events'} {shown}{more})" if proofs else ""
    )


def text_of(verdict: Verdict) -> str:
    """Return the verdict as one paragraph."""
    return " ".join(sentence.text for sentence in verdict.sentences)


def brief(verdict: Verdict) -> list[str]:
    """Return the limits, the verdict and its certainty, one paragraph each."""
    return [*verdict.limits, text_of(verdict), how_sure(verdict)]


def told(verdict: Verdict) -> list[str]:
    """Return the same as `brief`, without event numbers, for an editor."""
    remedy = f" ({verdict.remedy})" if verdict.remedy else ""
    return [*verdict.limits, text_of(verdict), f"How sure: {verdict.sure}{remedy}"]


def lines(verdict: Verdict, width: int = 0) -> Iterator[str]:
    """Yield the answer as lines for a terminal; `width` 0 folds none."""
    yield from folded(verdict.title, width)
    yield ""
    for paragraph in brief(verdict):
        yield from folded(paragraph, width)
    rows = [(_time(step), step.reason, _place(step), _titled(step)) for step in verdict.steps]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    numbered = zip(verdict.steps, rows, strict=True)
    if rows:
        yield ""
    for group, steps in groupby(numbered, key=lambda pair: pair[0].group):
        yield from folded(group, width)
        for step, row in steps:
            yield from _notes([step.clock] if step.clock else [], width)
            head = f"  {row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  "
            first, *rest = folded(row[3], max(width - len(head), 20) if width else 0)
            yield f"{head}{first}".rstrip()
            yield from (" " * len(head) + line for line in rest)
            yield from _notes(step.missing, width)


def _notes(sentences: list[str], width: int) -> Iterator[str]:
    for sentence in sentences:
        yield from (f"  {line}" for line in folded(sentence, width - 2 if width else 0))


def folded(text: str, width: int) -> list[str]:
    """Return a paragraph as lines of at most `width` characters; 0 folds none."""
    if not width:
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _time(step: ReasonStep) -> str:
    return units.offset(step.timeNs)


def _place(step: ReasonStep) -> str:
    return units.place(step.location.path, step.location.line) if step.location else ""


def _titled(step: ReasonStep) -> str:
    return step.title + (f" (through {units.count(step.folded, 'library step')})" if step.folded else "")


def markdown(verdict: Verdict) -> str:
    """Return the answer in Markdown for a ticket: the question, the verdict, its certainty and the steps."""
    parts = [f"**Why: {escaped(verdict.title)}**"]
    parts += [f"> {escaped(limit)}" for limit in verdict.limits]
    parts.append(escaped(text_of(verdict)))
    remedy = f" ({code(verdict.remedy)})" if verdict.remedy else ""
    parts.append(f"How sure: {escaped(verdict.sure)}{remedy}")
    if verdict.steps:
        parts.append("\n".join(_markdown_steps(verdict)))
    if verdict.moreSteps:
        parts.append(f"{units.count(verdict.moreSteps, 'more step')} not shown.")
    return "\n\n".join(parts) + "\n"


def _markdown_steps(verdict: Verdict) -> Iterator[str]:
    number = 1
    for group, steps in groupby(verdict.steps, key=lambda step: step.group):
        if number > 1:
            yield ""
        yield f"{escaped(group[:1].upper() + group[1:])}:" if group else "Steps:"
        yield ""
        for step in steps:
            facts = ", ".join(
                part for part in (step.reason, _time(step), code(_place(step)) if step.location else "") if part
            )
            notes = "".join(f"; {escaped(note)}" for note in (step.clock, *step.missing) if note)
            yield f"{number}. {escaped(_titled(step))} ({facts}){notes}"
            number += 1


def escaped(text: str) -> str:
    """Escape what Markdown or HTML would take as markup."""
    text = re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", text.replace("&", "&amp;"))
    # A ticket system would notify users and link issues whose names it finds; a space without width prevents it.
    return re.sub(r"@(?=\w)", "@\u200b", text)


def code(text: str) -> str:
    """Return inline code, whatever backticks it contains."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"


def cause_lines(cause: ErrorCause, command: str, width: int = 0) -> Iterator[str]:
    """Yield the lines of a group of errors: their number and times, the verdict, and the command that explains one."""
    yield from folded(_counted(cause), width)
    for paragraph in [*brief(cause.verdict), f"look at one: `{command}`"]:
        yield from (f"  {line}" for line in folded(paragraph, width - 2 if width else 0))


def _counted(cause: ErrorCause) -> str:
    if cause.count == 1:
        return f"1 × {cause.verdict.title}, at {units.offset(cause.firstNs)}"
    answered = (
        "" if cause.answered == cause.count else f" ({cause.answered:,} of them traced, the others look the same)"
    )
    times = f"{units.offset(cause.firstNs)} to {units.offset(cause.lastNs)}"
    return f"{cause.count:,} × {cause.verdict.title}, from {times}{answered}"


def causes_markdown(grouped: ErrorCauses) -> str:
    """Return the errors by cause in Markdown for a ticket."""
    parts = [f"**{escaped(grouped.title)}**"]
    for number, cause in enumerate(grouped.causes, 1):
        verdict = cause.verdict
        sentences = told(verdict)
        parts.append(f"{number}. {escaped(_counted(cause))}\n\n" + "\n\n".join(f"   {escaped(it)}" for it in sentences))
    return "\n\n".join(parts) + "\n"
