"""Plant faults of every kind in generated programs, and ask clew about them and about near misses without a fault.

Programs are made in two ways by generators that do not know each other: as records, many in this process, and as real
programs, each of which `clew run` records. A fault is named if a finding of its kind has the names that the fault has;
in a real program, that finding must also be the answer to why the program logged its error. Each finding about a near
miss is false, and so is one about the noise beside a fault, and each sentence that its events do not confirm. The
generators belong to the tests: run it in the checkout, with `PYTHONPATH=.`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from recording.report import machine
from rows import Row, row

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.answer.answer import answer
from clew.graph.ops.diagnoses.finding import Finding
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.facts import Facts
from clew.graph.store.store import open_graph
from clew.records.format.event import Kind
from clew.server.text.answer import tell_edge
from tests.support.diagnoses.evidence import Evidence, unconfirmed
from tests.support.diagnoses.made_programs import MADE, made_program
from tests.support.diagnoses.programs.kinds import KINDS, real_program
from tests.support.diagnoses.programs.source import Source

EXAMPLES = """examples:
  PYTHONPATH=. python benchmarks/diagnoses.py          50 made and 5 real programs with each fault, as many without
  PYTHONPATH=. python benchmarks/diagnoses.py --full   1,000 made programs and 50 real ones
  PYTHONPATH=. python benchmarks/diagnoses.py loop-blocked --real 1 --keep /tmp/programs
"""
LONGEST_S = 120
AT_ONCE = 2
TIMED = ("loop-blocked", "starved")
"""Kinds of faults that a busy machine can cause, and hide."""


@dataclass
class Outcome:
    """What came of one program."""

    kind: str
    way: str
    """`made` or `real`."""
    seed: int
    fault: bool
    named: bool = False
    false: list[str] = field(default_factory=list)
    """Claims that are false."""
    answer: str = ""
    busy: bool = False
    """Whether all false claims are of a kind that a busy machine can cause."""
    why_not: str = ""
    """Why the program could not be judged, such as that its fault did not show."""

    @property
    def right(self) -> bool:
        return not self.false and (self.named or not self.fault)

    def __str__(self) -> str:
        shape = "fault" if self.fault else "near miss"
        told = self.why_not or "; ".join(self.false) or self.answer or "nothing found"
        return f"{self.kind} {self.way} {self.seed} {shape}: {told}"


def made(kind: str, seed: int, fault: bool) -> Outcome:
    """Judge a program that is made as records."""
    outcome = Outcome(kind, "made", seed, fault)
    with made_program(kind, seed, fault) as program:
        found = findings(Facts.of(program.graph))
        own = [one for one in found if one.kind == kind and program.named_by(one.text)]
        outcome.named = bool(own)
        outcome.false = [f"{one.kind}: {one.text}" for one in found if one not in own]
        outcome.answer = own[0].text if own else ""
        evidence = Evidence(program.run, program.graph)
        outcome.false += [what for one in found for what in unconfirmed(evidence, one.claims)]
    return outcome


def real(kind: str, seed: int, fault: bool, keep: Path) -> Outcome:
    """Record a real program and judge it.

    It runs twice at most: a busy machine may hide a fault that depends on time, or be one itself, as a loop that is late. One
    that does not end runs once, for nothing but a fault of its own or of the recorder keeps it.
    """
    for _attempt in range(2):
        outcome = Outcome(kind, "real", seed, fault)
        folder = keep / f"{kind}-{seed}-{'fault' if fault else 'near-miss'}"
        shutil.rmtree(folder, ignore_errors=True)
        source, text = real_program(kind, seed, fault)
        try:
            output = record(source, text, folder)
        except subprocess.TimeoutExpired:
            outcome.why_not = f"did not end in {LONGEST_S} s"
            break
        if (source.question in output) != fault:
            outcome.why_not = "the fault did not show" if fault else "a near miss showed a fault"
            continue
        run = next((folder / ".clew" / "runs").iterdir())
        graph = open_graph(run)[0]
        judge(outcome, source, graph, Evidence(run, graph))
        hidden = kind in TIMED and not outcome.right
        if not outcome.busy and not hidden:
            break
    return outcome


def judge(outcome: Outcome, source: Source, graph: ExecutionGraph, evidence: Evidence) -> None:
    found = findings(Facts.of(graph))
    about = [one for one in found if outcome.fault and names_planted(source, one)]
    false = [one for one in found if one not in about]
    outcome.false = [f"{one.kind}: {one.text}" for one in false]
    outcome.busy = bool(false) and all(one.kind in TIMED for one in false)
    outcome.false += [what for one in found for what in unconfirmed(evidence, one.claims)]
    if not outcome.fault:
        return
    errors = [event for event in logged(graph) if source.question in graph.text(event)]
    if not errors:
        outcome.why_not = "the line was not recorded"
        return
    for event in errors:
        told = answer(graph, event, partial(tell_edge, graph))
        outcome.answer = told.text
        outcome.false += unconfirmed(evidence, told.verdict)
        if told.finding is not None and told.finding.kind == outcome.kind and names_all(source, told.finding):
            outcome.named = True
            break


def logged(graph: ExecutionGraph) -> Iterator[int]:
    return (event for event in range(len(graph)) if graph.at("kind", event) == Kind.LOG)


def names_planted(source: Source, found: Finding) -> bool:
    """Return whether a finding is about the strands or functions of the fault, not about the noise."""
    return any(name in found.text for name in (*source.names, *source.any_of))


def names_all(source: Source, found: Finding) -> bool:
    some = not source.any_of or any(name in found.text for name in source.any_of)
    return some and all(name in found.text for name in source.names)


def record(source: Source, text: str, folder: Path) -> str:
    """Record a program in a folder of its own; return what it logged."""
    (folder / ".clew").mkdir(parents=True)
    (folder / "app.py").write_text(text)
    command = [sys.executable, "-m", "clew", "run", "--quiet", "--budget", "none"]
    if source.spec:
        (folder / "app.esl").write_text(f"include standard;\nlogs;\nscope app.**;\n{source.spec}")
        command += ["--spec", "app.esl"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
    done = subprocess.run(
        [*command, "--", sys.executable, "app.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False,
    )  # fmt: skip
    (folder / "output").write_text(done.stdout + done.stderr)
    return done.stderr


def rows_of(outcomes: list[Outcome]) -> list[Row]:
    rows = []
    for kind in dict.fromkeys(one.kind for one in outcomes):
        missed = {}
        for way in ("made", "real"):
            own = [one for one in outcomes if one.kind == kind and one.way == way]
            judged = [one for one in own if not one.why_not]
            faults, near = [one for one in judged if one.fault], [one for one in judged if not one.fault]
            if not own:
                continue
            missed[way] = 100 * sum(not one.named for one in faults) / max(len(faults), 1)
            rows.append(row(f"{kind}: not named, {way}", f"% of {len(faults)}", missed[way], 1))
            false = sum(bool(one.false) for one in judged)
            rows.append(row(f"{kind}: claimed falsely, {way}", f"of {len(faults) + len(near)}", false, 0, digits=0))
            rows.append(row(f"{kind}: not judged, {way}", f"of {len(own)}", len(own) - len(judged), None, digits=0))
        if len(missed) == 2:
            rows.append(row(f"{kind}: the two ways differ", "% named", abs(missed["made"] - missed["real"]), 1))
    return rows


def _real(kind: str, keep: Path, pair: tuple[int, bool]) -> Outcome:
    return real(kind, *pair, keep)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", help="the kinds to try; all if there is none")
    parser.add_argument("--full", action="store_true", help="1,000 made programs of each kind and 50 real ones")
    parser.add_argument("--made", type=int, help="how many made programs of each kind")
    parser.add_argument("--real", type=int, help="how many real programs of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--keep", type=Path, help="the folder that keeps the real programs and their runs")
    options = parser.parse_args()
    many = (1000 if options.full else 50) if options.made is None else options.made
    few = (50 if options.full else 5) if options.real is None else options.real
    kinds = options.kinds or sorted({*KINDS, *MADE})
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="clew-diagnoses-", ignore_cleanup_errors=True) as temporary:
        keep = options.keep or Path(temporary)
        for kind in kinds:
            begin = time.monotonic()
            seeds = range(options.first, options.first + max(many, few))
            pairs = [(seed, fault) for seed in seeds for fault in (True, False)]
            own = [made(kind, seed, fault) for seed, fault in pairs[: 2 * many] if kind in MADE]
            if kind in KINDS:
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    own += pool.map(partial(_real, kind, keep), pairs[: 2 * few])
            outcomes += own
            wrong = [one for one in own if not one.right or one.why_not]
            print(
                f"{kind:26} {len(own) - len(wrong):5} of {len(own)} right, {time.monotonic() - begin:.0f} s", flush=True
            )
            for one in wrong[:8]:
                print(f"  {one}", flush=True)
    print(json.dumps({"benchmark": "diagnoses", "machine": machine(), "rows": rows_of(outcomes)}))


if __name__ == "__main__":
    main()
