"""Waits of recorded programs, as the graph's facts tell them, with lines of source code in the place of their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.graph.store.store import open_graph
from clew.records.format.facts import Frame


@dataclass(frozen=True)
class Held:
    who: str
    line: str
    """The innermost line of the program where the holder took it, "" if none is known."""
    seconds: float
    process: int
    """The uid of the process that took it before a fork, else 0."""


@dataclass(frozen=True)
class Waited:
    who: str
    """The name of the strand that waited."""
    channel: str
    end: str
    line: str
    limit: float | None
    holders: tuple[Held, ...]
    waiting: Waiting
    graph: ExecutionGraph

    @property
    def key(self) -> int:
        return self.waiting.begin.key

    @property
    def ns(self) -> int | None:
        return self.waiting.wake.ns - self.waiting.begin.ns if self.waiting.wake else None

    @property
    def short(self) -> tuple[str, str, str]:
        return self.who, self.channel, self.end


def waits_in(folder: Path) -> list[Waited]:
    """Return the waits of a finished run, in order."""
    graph, _ = open_graph(folder)
    facts = Facts.of(graph)
    found = []
    for waiting in facts.waits:
        begin = waiting.begin
        held = tuple(
            Held(
                name_of(graph, facts.strand_of(begin.process, holder)),
                program_line(holder.at),
                holder.held_ns / 1e9,
                holder.process,
            )
            for holder in begin.text.holders
        )
        found.append(
            Waited(
                name_of(graph, begin.strand),
                begin.channel,
                waiting.end,
                program_line((Frame(*(graph.location(begin.row) or ("", 0)), ""),)),
                begin.text.limit,
                held,
                waiting,
                graph,
            )
        )
    return found


def name_of(graph: ExecutionGraph, strand: int) -> str:
    return graph.strands[strand].name if strand >= 0 else "?"


def program_line(at: tuple[Frame, ...]) -> str:
    """Return the text of the innermost line in a file named program.py, "" if there is none."""
    for frame in at:
        if frame.file.endswith("program.py"):
            return Path(frame.file).read_text("utf-8").splitlines()[frame.line - 1].strip()
    return ""
