"""Ask `clew why` about every ERROR line of a run, and check each answer against the load and against the graph.

Which request an event is in is found here from tasks alone: the outermost task that led to the event's task, whatever the
answer says.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.causes.why import causes
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.facts import Facts
from clew.graph.store.store import open_graph
from web_service.faults import FAULTS, Fault
from web_service.load import Sent

LEAVES_BY = frozenset({"data", "resource", "control"})
"""The reasons along which an answer may leave a request; a cancellation is a message to a task."""
CLEW = (sys.executable, "-m", "clew")


@dataclass
class Judged:
    """What the answers to all ERROR lines of a run are worth."""

    lines: int = 0
    stayed: int = 0
    """The answers that leave their request only by data, a resource or a message."""
    named: Counter[str] = field(default_factory=Counter)
    planted: Counter[str] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)
    """For each answer that left its request otherwise: its line, and the step."""
    samples: dict[str, str] = field(default_factory=dict)
    """The verdict of one answer for each fault, one that is not named if there is one."""


def ask(workspace: Path, *arguments: str) -> Any:
    """Return what a command of clew prints with --json."""
    command = [*CLEW, *arguments, "--json"]
    done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise OSError(f"clew {' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout)


def run_of(workspace: Path) -> Path:
    """Return the folder of the newest run."""
    runs = sorted((workspace / ".clew" / "runs").iterdir())
    if not runs:
        raise OSError("nothing was recorded")
    return runs[-1]


class Requests:
    """The request of each event: the outermost task that led to it, or -1 if no task did."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph
        self._known: dict[int, int] = {}

    def of(self, event: int) -> int:
        return self._of_strand(int(self.graph.strand[event]))

    def _of_strand(self, strand: int) -> int:
        if strand not in self._known:
            self._known[strand] = -1
            found = self.graph.strands[strand]
            if found.kind == "task":
                # The edge into a task may be at its first event or at the one after it, where its first step is run.
                first = [cause for row in (found.start, found.start + 1) for cause in causes(self.graph, row)]
                began = [int(self.graph.strand[cause.event]) for cause in first]
                outer = self._of_strand(began[0]) if began and began[0] != strand else -1
                self._known[strand] = strand if outer < 0 else outer
        return self._known[strand]


def judge(workspace: Path, sent: Sequence[Sent], most: int) -> Judged:
    """Ask about every ERROR line of each fault, at most `most` of them."""
    graph = open_graph(run_of(workspace))[0]
    requests, planted = Requests(graph), {one.order: one.fault for one in sent if one.fault}
    judged = Judged()
    for fault in FAULTS:
        text = fault.line.partition("{order}")[2].strip(": ") if fault.line.startswith("order") else fault.line
        words = re.split(r"\\|\{order\}", text)[0].strip()
        found = ask(workspace, "why", words, "--all")
        for explained in found["answers"][:most]:
            _judge_one(judged, fault, explained["answer"], requests, planted)
    return judged


def _judge_one(
    judged: Judged, fault: Fault, verdict: Mapping[str, Any], requests: Requests, planted: Mapping[int, str]
) -> None:
    judged.lines += 1
    order = fault.order_of(verdict["title"])
    if order is not None and planted.get(order) == fault.name:  # else a busy machine made a request fail
        judged.planted[fault.name] += 1
        text = " ".join(sentence["text"] for sentence in verdict["sentences"])
        named = all(re.search(name, text) for name in fault.names)
        judged.named[fault.name] += named
        if fault.name not in judged.samples or not named:
            judged.samples[fault.name] = f"{verdict['title']}\n{text}\nHow sure: {verdict['sure']}"
    wrong = _left(verdict["steps"], requests)
    judged.stayed += wrong is None
    if wrong is not None:
        judged.left.append(f"{verdict['title']}: {wrong['group']}: {wrong['title']} ({wrong['reason']})")


def _left(steps: Sequence[Mapping[str, Any]], requests: Requests) -> Mapping[str, Any] | None:
    """Return the first step that is in another request than the one before, along something that carries nothing."""
    here = requests.of(steps[0]["event"])
    for step in steps[1:]:
        there = requests.of(step["event"])
        if there != here and step["reason"] not in LEAVES_BY:
            return step
        here = there
    return None


def claimed(workspace: Path) -> list[str]:
    """Return what the diagnoses claim about the newest run of a folder."""
    graph = open_graph(run_of(workspace))[0]
    return [f"{found.kind}: {found.text}" for found in findings(Facts.of(graph))]
