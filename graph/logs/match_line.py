"""Match a line of a log to the events that may have written it, likeliest first, with the reasons.

Invariant: a line that was not written by an event has no match. The message alone does not suffice: it has to be a
field of the line. The rest of the line must not contradict the event in time, level or source place. A line without a
time must not contain anything else that the event cannot explain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clew.graph.logs.message_index import Messages, messages_of
from clew.graph.logs.templates import Match
from clew.graph.logs.timestamps import MAX_WIDTH, Moment, Stamp, stamps
from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.find_events import LEVEL_NUMBERS, same_file
from clew.records.format.event import FLAG_TRUNCATED

AT_MOST = 8
"""The maximum number of events returned for one line; the rest is only counted."""
_MOST_COMPARED = 200
"""The maximum number of events with one line's message that are compared with it: those nearest to its time."""
COLOUR = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_ID = r"(?P<uid>[0-9a-f]{16})\.(?P<thread>\d{1,9})\.(?P<number>\d{1,18})\b"
ID = re.compile(rf"(?:\[clew |\bclew[\"']?\s*[=:]\s*[\"']?){_ID}[\"'\]]?")
"""Match the id that `logs … with ids` writes on a line: the process, the thread, and the index of the thread's LOG
event.

At the end of text it is `[clew ID]`. As a field it is `"clew": "ID"` in JSON and `clew=ID` in other formats.
"""
_ID_ALONE = re.compile(rf"\s*(?:clew )?{_ID}\s*")
PLACE = re.compile(r"(?P<file>[\w./\\-]+\.py)(?::|\", line |, line )(?P<line>\d+)")
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_LEVEL = re.compile(
    r"\b(?P<word>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b"
    r"|\b(?:level|levelname|lvl|severity)[\"']?\s?[=:]\s?[\"']?(?P<field>[a-zA-Z]+)\b"
    r"|\[(?P<bracket>debug|info|warning|warn|error|critical|fatal)\s*\]"
)
_WORD = re.compile(r"[^\W\d_]+")
_SPECIFIC_WORDS = 3
"""The number of words from which a message at the right time counts as specific to its event, anywhere in the line.
"""
_OPENS = re.compile(r"(?:^|[:\]|)>}=\"',;\-\t–—•»→]\s*|\d\s+)$")
_CLOSES = re.compile(r"\s*(?:$|[\"'\]})|\t]|\s[\[({|]|(?:\s+[\w.]+=(?:\"[^\"]*\"|'[^']*'|\S*))+\s*$)")
_PLAIN = frozenset(
    _WORD.findall(
        "level levelname lvl severity message msg event text time timestamp asctime ts logger name module func funcname "
        "function file filename pathname line lineno process processname pid thread threadname tid task taskname clew "
        "mainthread mainprocess debug info warning warn error critical fatal"
    )
)
"""Words that a line may have around its message, whatever logger wrote it."""


class Written(NamedTuple):
    """An event that may have written a line."""

    event: int
    reasons: tuple[str, ...]
    """The reasons for the match as text, strongest first."""
    away: int
    """The nanoseconds between the event's time and the line's; 0 if the line has no time."""


@dataclass(frozen=True)
class Found:
    """The events that may have written a line, likeliest first."""

    events: tuple[Written, ...] = ()
    count: int = 0
    """The number of all such events; `events` may hold only the first few."""
    begin: int = 0
    end: int = 0
    """The position in the line where the message or the id ends."""

    @property
    def certain(self) -> bool:
        return self.count == 1


def find_line(graph: ExecutionGraph, line: str) -> Found:
    """Return the events that may have written a line of a log."""
    line = COLOUR.sub("", line.rstrip("\r\n"))[:MAX_WIDTH]
    named = _by_id(graph, line)
    if named is not None:
        event, begin, end = named
        return Found((Written(event, ("its id",), 0),), 1, begin, end)
    # An unknown id is not part of the message, so it is blanked.
    return _Search(graph, ID.sub(lambda found: " " * len(found[0]), line)).found()


_Rank = tuple[int, int, int]
"""A sort key from the number of reasons, the distance in time, and the age. Smaller keys are likelier."""


class _Search:
    """A search for the events of one line."""

    def __init__(self, graph: ExecutionGraph, line: str) -> None:
        self.graph = graph
        self.line = line
        self.messages: Messages = messages_of(graph)
        self.stamps = stamps(line)

    def found(self) -> Found:
        fitting: list[tuple[_Rank, Written]] = []
        count = longest = begin = end = 0
        for match, text in self._matches():
            written, many = self._fitting(match, text)
            length = match.end - match.begin
            if not written or length < longest:
                continue
            # A message inside a longer message of the line was not logged by itself.
            if length > longest:
                fitting, count, longest = [], 0, length
                begin, end = (match.begin, match.end) if text is self.line else (0, len(self.line))
            fitting += written
            count += many
        events = {one.event: one for _, one in sorted(fitting, reverse=True)}
        count -= len(fitting) - len(events)
        return Found(tuple(reversed(events.values()))[:AT_MOST], count, begin, end)

    def _matches(self) -> Iterator[tuple[Match, str]]:
        """Yield the messages in the line and in the decoded JSON strings of the line, with the text that contains
        each.

        A message in a JSON string has to be the whole string.
        """
        for match in self.messages.index.matches(self.line):
            yield match, self.line
        for quoted in _JSON_TEXT.findall(self.line):
            text = _json_text(quoted).split("\n", 1)[0].strip()
            if text:
                for match in self.messages.index.matches(text):
                    if (match.begin, match.end) == (0, len(text)):
                        yield match, text

    def _fitting(self, match: Match, text: str) -> tuple[list[tuple[_Rank, Written]], int]:
        """Return the events with a message in the line that agree with the line, and their number."""
        messages, started = self.messages, self.messages.started
        places = messages.of(match)
        inside = text is self.line
        own = [one for one in self.stamps if not (inside and match.begin <= one.begin < match.end)][:1]
        possible = own[0].moments(messages.span) if own and len(places) else []
        if possible:
            places, count = self._at(places, possible, started)
        elif own:
            return [], 0
        else:
            count, places = len(places), places[-_MOST_COMPARED:]
        rest = _Rest(self.line, match if inside else None, own)
        fitting = []
        for place in places.tolist():
            reasons = self._reasons(place, match, rest, timed=bool(possible))
            if reasons is None:
                count -= 1
                continue
            ts = int(messages.ts[place])
            away = min((moment.away(ts + started) for moment in possible), default=0)
            if possible:
                reasons.insert(0, _near(away))
            written = Written(int(messages.rows[place]), tuple(reasons), away)
            fitting.append(((-len(reasons), away, -ts), written))
        return fitting, max(count, len(fitting))

    def _at(
        self, places: np.ndarray[tuple[int], np.dtype[np.int32]], possible: list[Moment], started: int
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], int]:
        """Return the events among `places` (by time) that are near a possible time of the line, and their number.

        The nearest event comes first. Guessed times count only if no event is near another time.
        """
        for guessed in (False, True):
            chosen: dict[int, int] = {}
            count = 0
            for moment in possible:
                if moment.guessed != guessed:
                    continue
                first, last = moment.first - started, moment.last - started
                exactly = self.messages.near(places, first, last)
                near = (
                    exactly if len(exactly) else self.messages.near(places, first - moment.margin, last + moment.margin)
                )
                count += len(near)
                if len(near) > _MOST_COMPARED:
                    low = int(np.searchsorted(self.messages.ts[near], first))
                    near = near[max(0, low - _MOST_COMPARED // 2) : low + _MOST_COMPARED]
                for place in near.tolist():
                    away = moment.away(int(self.messages.ts[place]) + started)
                    chosen[place] = min(away, chosen.get(place, away))
            if chosen:
                ordered = sorted(chosen, key=lambda place: (chosen[place], place))[:_MOST_COMPARED]
                return np.array(ordered, np.int32), count
        return places[:0], 0

    def _reasons(self, place: int, match: Match, rest: _Rest, *, timed: bool) -> list[str] | None:
        """Return the reasons for an event, or None if something contradicts it."""
        row, level = int(self.messages.rows[place]), int(self.messages.level[place])
        site = self.graph.sites[int(self.messages.site[place])]
        reasons = ["the same message"]
        if rest.level is not None and level in LEVEL_NAMES:
            if level != rest.level:
                return None
            reasons.append("the same level")
        if rest.places:
            if site.file and not any(same_file(site.file, file) and site.line == line for file, line in rest.places):
                return None
            reasons.append("the same place")
        logger = self.graph.channel(row)
        if logger and rest.has(logger):
            reasons.append("the same logger")
        words = len(_WORD.findall(self.line[match.begin : match.end])) if rest.inside else 1
        specific = timed and words >= _SPECIFIC_WORDS and rest.apart
        if not (specific or rest.opens(self._known(place))) or not (rest.closes() or self._is_cut(row)):
            return None
        if not timed and "the same place" not in reasons and not rest.explained(self._known(place)):
            return None
        # A number alone is not specific to an event.
        return reasons if words or len(reasons) > 1 else None

    def _known(self, place: int) -> frozenset[str]:
        """Return the words that lines about an event may contain in addition to its message."""
        row, site = int(self.messages.rows[place]), self.graph.sites[int(self.messages.site[place])]
        strand, process = self.graph.strand_of(row), self.graph.process_of(row)
        names = (
            self.graph.channel(row), site.module, site.qualname, site.file, strand.name, strand.thread_name,
            process.name, process.host, *process.argv[:1],
        )  # fmt: skip
        return frozenset(word.lower() for name in names for word in _WORD.findall(name))

    def _is_cut(self, row: int) -> bool:
        ext = self.graph.at("ext", row)
        return bool(int(self.graph.extensions.flags[ext]) & FLAG_TRUNCATED)


class _Rest:
    """The parts of a line other than a message and its time."""

    def __init__(self, line: str, match: Match | None, own: list[Stamp]) -> None:
        self.inside = match is not None
        begin, end = (match.begin, match.end) if match else (len(line), len(line))
        self._before, self._after = line[:begin], line[end:]
        for stamp in own:
            if stamp.begin < begin:
                self._before = (
                    line[: stamp.begin] + "0" * (min(stamp.end, begin) - stamp.begin) + line[stamp.end : begin]
                )
            else:
                self._after = line[end : stamp.begin] + line[stamp.end :]
        both = f"{self._before}\n{self._after}" if match else line
        found = _LEVEL.search(both)
        word = next(filter(None, found.groups())).upper() if found else ""
        self.level = LEVEL_NUMBERS.get(word)
        self.places = [(one["file"], int(one["line"])) for one in PLACE.finditer(both)]
        self._text = both

    def has(self, name: str) -> bool:
        return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", self._text) is not None

    def opens(self, known: frozenset[str]) -> bool:
        """Return whether a field of the line may begin where the message begins."""
        if not self.inside or _OPENS.search(self._before):
            return True
        words = re.findall(r"\w+", self._before)
        return self._before[-1:].isspace() and bool(words) and words[-1].lower() in known | _PLAIN

    @property
    def apart(self) -> bool:
        return not self._before or self._before[-1].isspace()

    def closes(self) -> bool:
        """Return whether a field of the line may end where the message ends."""
        return not self.inside or _CLOSES.match(self._after) is not None

    def explained(self, known: frozenset[str]) -> bool:
        """Return whether the event's line may contain every remaining word."""
        if not self.inside:
            return True  # the message is a whole field of JSON
        return all(
            word.lower() in known or word.lower() in _PLAIN or len(word) == 1 for word in _WORD.findall(self._text)
        )


def _near(away: int) -> str:
    if away == 0:
        return "the same time"
    return f"{away / 1e6:.3g} ms from its time" if away < 10**9 else f"{away / 1e9:.2g} s from its time"


def _by_id(graph: ExecutionGraph, line: str) -> tuple[int, int, int] | None:
    """Return the event that the id on a line names, and the bounds of the id.

    Return None if the line has no id, or if the event has another message.
    """
    alone = _ID_ALONE.fullmatch(line)
    written = ""
    for found in [alone] if alone else reversed(list(ID.finditer(line))):  # a message may quote another line
        row = _named(graph, int(found["uid"], 16), int(found["thread"]), int(found["number"]))
        written = written or "\n".join([line, *filter(None, map(_json_text, _JSON_TEXT.findall(line)))])
        if row is None:
            continue
        text = graph.text(row)
        if alone or text.split("\n", 1)[0].strip()[:MAX_WIDTH] in written or _ends(text, line[: found.start()]):
            return row, found.start(), found.end()
    return None


def _ends(text: str, before: str) -> bool:
    """Return whether the text before an id ends with the last line of a message.

    That last line is empty if the message ends with a newline.
    """
    last = text.rsplit("\n", 1)[-1].strip()
    return before.strip().endswith(last) if last else not before.strip()


def _named(graph: ExecutionGraph, uid: int, thread: int, number: int) -> int | None:
    messages = messages_of(graph)
    parts = []
    for strand in graph.strands:
        if strand.thread == thread and graph.processes[strand.process].uid == uid:
            low, high = np.searchsorted(messages.rows, [strand.start, strand.stop])
            parts.append(np.arange(low, high))
    places = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    if not 1 <= number <= len(places):
        return None
    return int(messages.rows[places[np.argsort(messages.ts[places], kind="stable")[number - 1]]])


def _json_text(quoted: str) -> str:
    if "\\" not in quoted:
        return ""
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return ""
