"""Group the errors of a run by their cause: log lines of ERROR and above, uncaught exceptions, and printed error lines.

Errors with the same exception, or else the same message, are answered by samples, so that the time is bounded for any
number of errors. If the samples of a message have several causes, the errors between two samples of one cause belong to
that cause, and errors between two different causes to the later one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from clew.graph.model.event import ERROR
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.answer.answer import Answer, Tell, answer
from clew.graph.ops.diagnoses import words
from clew.graph.ops.facts.exceptions.handled import Handled, chain_of, handled_at
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.lost_strands import uncaught
from clew.graph.ops.facts.work.work_units import request_of
from clew.graph.ops.find_events import find_logs, is_copy_of_log, is_printed_error
from clew.records.format.event import Kind

STDERR = 2
SAMPLES = 3
"""Answered errors of a message, unless they have several causes."""
MORE_SAMPLES = 24
MOST_ANSWERS = 200
"""Answered errors of a run beyond the newest of each message."""
MOST_MESSAGES = 100
"""Messages that are answered; the most frequent ones."""
_LOOKS_LIKE_ERROR = re.compile(
    r"\b(?:error|fatal|critical|panic|failed|failure|timed out|timeout|exception|abort(?:ed)?|refused|cannot)\b|"
    r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Warning|Interrupt|Timeout)\b(?::|$)",
    re.IGNORECASE,
)
_PARAMETERS = re.compile(r"0x[0-9a-fA-F]+|'[^']*'|\"[^\"]*\"|[A-Za-z_]*\d[A-Za-z0-9_.:-]*")

Key = tuple[object, ...]
Ask = Callable[[int], Answer]


@dataclass(frozen=True)
class ErrorGroup:
    """Errors with one cause."""

    events: tuple[int, ...]
    """The events, by time."""
    answered: int
    """The number of events that were answered one by one."""
    answer: Answer
    """The answer for the newest."""
    first_ns: int
    last_ns: int
    logs: int
    raised: int
    printed: int

    @property
    def count(self) -> int:
        return len(self.events)

    @property
    def newest(self) -> int:
        return self.answer.event


def group_errors(graph: ExecutionGraph, tell: Tell) -> tuple[list[ErrorGroup], int]:
    """Return the errors of a run by cause, the most frequent first, then the newest, and the number of omitted errors.

    `tell` is that of `answer`.
    """
    facts = Facts.of(graph)
    ask = partial(answer, graph, tell=tell)
    by_key: dict[Key, list[int]] = defaultdict(list)
    for event, key in _errors(graph, facts):
        by_key[key].append(event)
    causes: dict[Key, list[int]] = defaultdict(list)
    answers: dict[int, Answer] = {}
    left = MOST_ANSWERS
    ranked = sorted(by_key.items(), key=lambda item: -len(item[1]))
    for key, events in ranked[:MOST_MESSAGES]:
        events.sort(key=lambda event: (graph.at("ts", event), event))
        for cause, part, answered in _parted(ask, key, events, left):
            causes[cause] += part
            answers |= answered
            left -= len(answered) - 1
    groups = [_group(graph, events, answers) for events in causes.values()]
    omitted = sum(len(events) for _, events in ranked[MOST_MESSAGES:])
    return sorted(groups, key=lambda group: (-group.count, -group.last_ns)), omitted


def _group(graph: ExecutionGraph, events: list[int], answers: dict[int, Answer]) -> ErrorGroup:
    events.sort(key=lambda event: (graph.at("ts", event), event))
    times = graph.ts[events]
    kinds = [graph.at("kind", event) for event in events]
    known = [event for event in events if event in answers]
    return ErrorGroup(
        tuple(events), len(known), answers[known[-1]], int(times[0]), int(times[-1]), kinds.count(Kind.LOG),
        kinds.count(Kind.EXCEPTION), kinds.count(Kind.OUTPUT),
    )  # fmt: skip


def _parted(ask: Ask, key: Key, events: list[int], left: int) -> Iterator[tuple[Key, list[int], dict[int, Answer]]]:
    """Yield the causes of events that have one key, by time, each with its events and the answers that were found."""
    answers = _sampled(ask, events, {}, min(SAMPLES, max(left, 1)))
    if len({cause_of(found, key) for found in answers.values()}) > 1:
        answers = _sampled(ask, events, answers, min(MORE_SAMPLES, max(left, 1)))
    parts: dict[Key, list[int]] = defaultdict(list)
    waiting: list[int] = []
    for event in events:
        waiting.append(event)
        if event in answers:
            parts[cause_of(answers[event], key)] += waiting
            waiting = []
    for cause, part in parts.items():
        yield cause, part, {event: answers[event] for event in part if event in answers}


def _sampled(ask: Ask, events: list[int], known: dict[int, Answer], count: int) -> dict[int, Answer]:
    """Answer up to `count` events that are evenly spread; the newest is always one of them."""
    places = (
        {len(events) - 1} if count == 1 else set(np.linspace(0, len(events) - 1, count).round().astype(int).tolist())
    )
    return known | {events[at]: ask(events[at]) for at in places if events[at] not in known}


def cause_of(found: Answer, key: Key) -> Key:
    """Return what two answers with the same cause have in common: the diagnosis and its words without numbers.

    Without a diagnosis it is `key`: the exception and where it was raised, or the message.
    """
    if found.finding is None:
        return key
    return "finding", found.finding.kind, template(found.finding.text)


def template(text: str) -> str:
    """Return a message without its numbers, quoted texts and identifiers with digits."""
    return _PARAMETERS.sub("…", text.partition("\n")[0])


def error_before(graph: ExecutionGraph, event: int) -> int:
    """Return the event itself if it is an error line, else the newest error line of its request up to it, -1 for none."""
    errors = find_logs(graph, level=ERROR)
    at = int(np.searchsorted(errors, event))
    if at < len(errors) and errors[at] == event:
        return event
    request = request_of(graph, event)
    if request < 0:
        return -1
    near = errors[graph.ts[errors] <= graph.at("ts", event)]
    newest = near[np.argsort(-graph.ts[near], kind="stable")][:MOST_ANSWERS]
    return next((error for error in newest.tolist() if request_of(graph, error) == request), -1)


def _errors(graph: ExecutionGraph, facts: Facts) -> Iterator[tuple[int, Key]]:
    written: set[tuple[int, int]] = set()
    for row in find_logs(graph, level=ERROR).tolist():
        chain = handled_at(facts, row)
        written.update(each.fact.resource for each in chain)
        yield row, _raised(facts, chain) or ("message", graph.at("site", row), template(graph.text(row)))
    for fact in uncaught(facts):
        # A line that logs the exception counts, and the exception does not count again.
        if fact.resource not in written:
            written.add(fact.resource)
            yield fact.row, _raised(facts, chain_of(facts, fact)[:1]) or ("exception", fact.channel)
    for row in _printed(graph, facts):
        yield row, ("message", graph.at("site", row), template(graph.text(row)))


def _raised(facts: Facts, chain: list[Handled]) -> Key | None:
    """Return the type of the exception that the others came from, and the line that raised it."""
    if not chain:
        return None
    frame = words.own_frame(chain[-1].first.text.at or chain[-1].at, facts)
    return "exception", chain[-1].fact.channel, (frame.file, frame.line) if frame else ()


def _printed(graph: ExecutionGraph, facts: Facts) -> Iterator[int]:
    """Yield the printed error lines, and the lines on stderr that look like errors, except for copies of log lines and
    tracebacks of exceptions that were recorded."""
    recorded = {name.rpartition(".")[2] for name in facts.exceptions.types}
    traceback: set[int] = set()  # the strands that print a traceback now
    for row in facts.outputs:
        if graph.key(row) != STDERR:
            if is_printed_error(graph, row):
                yield row
            continue
        text, strand = graph.text(row), graph.at("strand", row)
        if text.startswith(("Traceback (most recent call last)", "Exception in thread ")):
            traceback.add(strand)
            continue
        if strand in traceback:
            if text.startswith((" ", "\t")) or not text.strip():
                continue
            traceback.discard(strand)
            if text.partition(":")[0].strip().rpartition(".")[2] in recorded:
                continue
        elif not _LOOKS_LIKE_ERROR.search(text) or is_copy_of_log(graph, row):
            continue
        yield row
