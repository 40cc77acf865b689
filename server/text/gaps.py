"""Texts about missing events and about clocks: time ranges without data, and the uncertainty of times between machines.

Invariant: an answer has at most `MOST_GAPS` gaps, the longest ones, and counts the omitted ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from clew.graph.model.gaps import between, lost_calls_of, stretch
from clew.graph.model.gaps import gaps as all_gaps
from clew.graph.model.graph import ExecutionGraph, Gap
from clew.graph.model.machines import Crossing, Machine
from clew.server.protocol.shared import MachineRef, MissingEvents, ProcessRef
from clew.server.text import units

MOST_GAPS = 100
MOST_ON_THE_WAY = 5
"""Maximum number of gaps between two steps of a chain."""


@dataclass(frozen=True)
class Missing:
    """The gaps that an answer shows."""

    shown: list[MissingEvents]
    """The gaps, ordered by time."""
    hidden: int
    place: dict[Gap, int]
    """The index of a gap in `shown`."""

    def places(self, gaps: Iterable[Gap]) -> list[int]:
        """Return the indices of the gaps that are shown."""
        return sorted({self.place[gap] for gap in gaps if gap in self.place})


def missing(graph: ExecutionGraph, gaps: Sequence[Gap], most: int = MOST_GAPS) -> Missing:
    """Return the gaps for an answer. If there are too many, gaps of one strand for one reason are merged."""
    groups = [(_missing_events(graph, gap), [gap]) for gap in gaps]
    if len(groups) > most:
        alike: dict[tuple[int, str], list[tuple[MissingEvents, list[Gap]]]] = {}
        for events, of in groups:
            alike.setdefault((of[0].strand, events.why), []).append((events, of))
        groups = [
            (_joined([events for events, _ in same]), [gap for _, of in same for gap in of]) for same in alike.values()
        ]
    longest = sorted(groups, key=lambda group: group[0].fromNs - group[0].toNs)[:most]
    longest.sort(key=lambda group: group[0].fromNs)
    place = {gap: number for number, (_, of) in enumerate(longest) for gap in of}
    return Missing([events for events, _ in longest], len(groups) - len(longest), place)


def on_the_way(graph: ExecutionGraph, first: int, last: int) -> Missing:
    """Return the gaps between one event of a strand and a later one; see `gaps.between`."""
    return missing(graph, between(graph, first, last), MOST_ON_THE_WAY)


def during(graph: ExecutionGraph, strands: Iterable[int], begin: float, end: float) -> list[Gap]:
    """Return the gaps of some strands within a time range."""
    chosen = set(strands)
    return [gap for gap in all_gaps(graph) if gap.strand in chosen and overlaps(graph, gap, begin, end)]


def overlaps(graph: ExecutionGraph, gap: Gap, begin: float, end: float) -> bool:
    since, until = stretch(graph, gap)
    return since < end and until > begin


def _missing_events(graph: ExecutionGraph, gap: Gap) -> MissingEvents:
    strand = graph.strands[gap.strand]
    begin, end = stretch(graph, gap)
    function = lost_calls_of(graph, gap)
    return _with_text(
        MissingEvents(
            process=graph.processes[strand.process].name,
            strand=strand.name or f"a {strand.kind}",
            fromNs=float(begin),
            toNs=float(end),
            lost=gap.lost,
            function=function,
            why=gap.why.removeprefix(f"{function}: "),
            text="",
        )
    )


def _joined(same: list[MissingEvents]) -> MissingEvents:
    if len(same) == 1:
        return same[0]
    known = [one.lost for one in same if one.lost is not None]
    return _with_text(
        replace(
            same[0],
            fromNs=min(one.fromNs for one in same),
            toNs=max(one.toNs for one in same),
            lost=sum(known) if len(known) == len(same) else None,
            why=f"{same[0].why} ({len(same)} times)",
        )
    )


def _with_text(one: MissingEvents) -> MissingEvents:
    """Add the text: `41 calls of app.hot in MainThread are missing between +1.200000 s and +1.300000 s: they were too
    many`."""
    noun = "call" if one.function else "event"
    many = f"{noun}s" if one.lost is None else units.count(one.lost, noun)
    whose = f"of {units.short_label(one.function)} in {one.strand}" if one.function else f"of {one.strand}"
    begin, end = units.offset(one.fromNs), units.offset(one.toNs)
    when = f"at {begin}" if begin == end else f"between {begin} and {end}"
    return replace(one, text=f"{many} {whose} {'is' if one.lost == 1 else 'are'} missing {when}: {one.why}")


def clock(crossing: Crossing | None, ns: float) -> tuple[str, bool]:
    """Describe the clocks of an edge between two machines, and return whether their error can exceed its duration.

    Return "" and False for an edge within one machine.
    """
    if crossing is None:
        return "", False
    unsure = crossing.hides(ns)
    return f"{crossing}" + (f", more than the {units.duration(abs(ns))} between the events" if unsure else ""), unsure


def machine_ref(machine: Machine) -> MachineRef:
    return MachineRef(
        name=machine.name,
        clock=machine.clock,
        offsetNs=float(machine.offset_ns),
        rate=machine.rate,
        belowNs=machine.below_ns if math.isfinite(machine.below_ns) else None,
        aboveNs=machine.above_ns if math.isfinite(machine.above_ns) else None,
        messages=machine.messages,
    )


def machines(graph: ExecutionGraph) -> list[MachineRef]:
    """Return the machines; an empty list if there is only one."""
    return [machine_ref(machine) for machine in graph.machines] if len(graph.machines) > 1 else []


def machine_of(graph: ExecutionGraph, event: int) -> str:
    """Return the machine's name; "" if there is only one machine."""
    return graph.machines[graph.process_of(event).machine].name if len(graph.machines) > 1 else ""


def processes(graph: ExecutionGraph, names: Iterable[str]) -> list[ProcessRef]:
    """Return these processes with their machines; the machine is "" if there is only one."""
    several, chosen = len(graph.machines) > 1, set(names)
    return [
        ProcessRef(process.name, graph.machines[process.machine].name if several else "")
        for process in graph.processes
        if process.name in chosen
    ]
