"""Measure how often `clew diff` names a planted change, and how often it names one where nothing changed, on a busy machine.

Each program is recorded with and without its change while 0, 2, 4 and 8 busy processes share the cores. A change is named if
the first finding of the answer is about the planted place. Silence counts as wrong there. Where nothing was planted, any
finding is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from recording.report import Row, goal_row, report
from scipy.stats import binomtest

EXAMPLES = """examples:
  python benchmarks/under_load.py                        5 pairs a cell, about 20 minutes
  python benchmarks/under_load.py --full                 20 pairs a cell
  python benchmarks/under_load.py orders --loads 0 8     one program, quiet and busy
"""
HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "load_programs"
EXAMPLE = HERE.parent / "examples" / "chunkstore"
LOADS = (0, 2, 4, 8)
PAIRS, FULL_PAIRS = 5, 20
ASKED = 95.0
"""Percent."""
LONGEST_S = 120


@dataclass(frozen=True)
class Program:
    name: str
    command: tuple[str, ...]
    """Python's arguments. `{change}` is replaced by the change; the environment variable PLANTED has it, too."""
    healthy: str = ""
    """The change's replacement in a healthy run."""
    folder: Path = PROGRAMS
    options: tuple[str, ...] = ()
    """Options of `clew run`."""


@dataclass(frozen=True)
class Change:
    program: Program
    word: str
    place: str
    """A regular expression for the label of the planted place."""
    level: str = "function"

    @property
    def name(self) -> str:
        return f"{self.program.name}: {self.word}"


ORDERS = Program("orders", ("orders.py",))
SEARCH = Program("search", ("search.py",))
CHUNKSTORE = Program(
    "chunkstore",
    ("-m", "chunkstore.scenario", "slow-job", "--data", "{data}", "--variant", "{change}"),
    "before",
    EXAMPLE,
    ("--spec", str(EXAMPLE / "chunkstore.esl")),
)
CHANGES = (
    Change(ORDERS, "slower", r"orders:price"),
    Change(ORDERS, "lock", r"orders:Ledger\.post"),
    Change(ORDERS, "call", r"orders:(check|handle)"),
    Change(SEARCH, "slower", r"search:score"),
    Change(SEARCH, "call", r"search:(tokens|answer)"),
    Change(SEARCH, "server", r"search #4", "process"),
    Change(CHUNKSTORE, "after", r"chunkstore\.index:ChunkIndex\.lookup"),
)


@dataclass
class Cell:
    """The pairs of one program with one number of busy processes."""

    pairs: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    """What the wrong answers said."""

    def add(self, *, is_right: bool, told: str) -> None:
        self.pairs += 1
        self.right += is_right
        if not is_right:
            self.wrong.append(told)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep `count` processes busy."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def record(program: Program, word: str, workspace: Path, name: str) -> str:
    """Record a program and return the run's name."""
    change = word or program.healthy
    parts = {"{data}": str(workspace / f"data-{name}"), "{change}": change}
    words = [parts.get(part, part) for part in program.command]
    command = ["run", "-q", "--workspace", str(workspace), "--name", name, *program.options, "--", sys.executable]
    done = _clew([*command, *words], workspace, change)
    if done.returncode:
        sys.exit(f"{program.name} {word}: {done.stderr.strip()}")
    return name


def findings(workspace: Path, before: str, after: str, level: str) -> tuple[list[str], str]:
    """Return the labels of the findings, as the answer names them, and its sentence."""
    done = _clew(
        ["diff", "--workspace", str(workspace), before, after, "--by", "functions", "--level", level, "--json"],
        workspace,
    )
    if done.returncode:
        sys.exit(f"clew diff: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    sentence = answer["sentence"]
    found = [row["label"] for row in answer["rows"] if row["finding"] or row["waitsFinding"]]
    return sorted(found, key=lambda label: (sentence.find(label) < 0, sentence.find(label))), sentence


def _clew(words: Sequence[str], cwd: Path, planted: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    return subprocess.run(
        [sys.executable, "-m", "clew", *words],
        cwd=cwd, env=environment | {"PLANTED": planted}, capture_output=True, text=True, timeout=LONGEST_S, check=False,
    )  # fmt: skip


def measure(change: Change, load: int, pairs: int, planted: Cell, healthy: Cell) -> None:
    with tempfile.TemporaryDirectory(prefix="clew-load-", ignore_cleanup_errors=True) as folder:
        workspace = Path(folder, "work")
        shutil.copytree(change.program.folder, workspace, ignore=shutil.ignore_patterns(".clew", "__pycache__"))
        for pair in range(pairs):
            with busy(load):
                before = record(change.program, "", workspace, f"before-{pair}")
                after = record(change.program, change.word, workspace, f"after-{pair}")
                again = record(change.program, "", workspace, f"again-{pair}")
            found, told = findings(workspace, before, after, change.level)
            planted.add(is_right=bool(found) and re.fullmatch(change.place, found[0]) is not None, told=told)
            found, told = findings(workspace, before, again, change.level)
            healthy.add(is_right=not found, told=told)


def row(name: str, load: int, cells: Sequence[Cell]) -> Row:
    right, of = sum(cell.right for cell in cells), sum(cell.pairs for cell in cells)
    bounds = binomtest(right, of).proportion_ci(method="wilson")
    ours = round(100 * right / of, 1)
    unit = f"% of {of} pairs beside {load} busy processes ({100 * bounds.low:.1f}–{100 * bounds.high:.1f})"
    return goal_row(name, unit, ours, ASKED, met=ours >= ASKED)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("programs", nargs="*", help="default: orders, search, chunkstore")
    parser.add_argument("--full", action="store_true", help=f"{FULL_PAIRS} pairs a cell instead of {PAIRS}")
    parser.add_argument("--pairs", type=int, help="that many pairs a cell")
    parser.add_argument("--loads", type=int, nargs="+", default=list(LOADS), help="numbers of busy processes")
    options = parser.parse_args()
    known = {change.program.name for change in CHANGES}
    if unknown := set(options.programs) - known:
        parser.error(f"no program is called {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    pairs = options.pairs or (FULL_PAIRS if options.full else PAIRS)
    changes = [change for change in CHANGES if not options.programs or change.program.name in options.programs]
    rows: list[Row] = []
    for load in options.loads:
        planted, healthy = [], []
        for change in changes:
            planted.append(Cell())
            healthy.append(Cell())
            measure(change, load, pairs, planted[-1], healthy[-1])
            print(
                f"{load} busy, {change.name}: named {planted[-1].right} of {pairs}, silent {healthy[-1].right} of {pairs}"
            )
            for told in (*planted[-1].wrong, *healthy[-1].wrong):
                print(f"    {told}", flush=True)
        rows += [
            row("the planted place is first", load, planted),
            row("nothing is named where nothing changed", load, healthy),
        ]
    report("under_load", rows)


if __name__ == "__main__":
    main()
