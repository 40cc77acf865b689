"""Ask `clew why` about bugs that real projects had, and about the same programs without the bug.

A bug is named if the first three lines of the answer match all regular expressions of its case. A mended program is silent
if no diagnosis finds anything in its run. The verdict of a plain line tells nothing that is unrelated to it. Libraries are
installed into `.cache/real_bugs` at the first use; redis and PostgreSQL are Debian's. What cannot be set up is printed as
"not tried".
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from bug_programs.cases import CASES, OTHERS, Case, Variant
from bug_programs.plain.cases import PLAIN, Line
from bug_programs.set_up import interpreter, libraries, server
from bug_programs.unseen.cases import UNSEEN
from recording.report import Row, goal_row, machine

from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.facts import Facts
from clew.graph.store.store import open_graph

EXAMPLES = """examples:
  python benchmarks/real_bugs.py                   all, about five minutes
  python benchmarks/real_bugs.py lock_order        one, with the whole answer
  python benchmarks/real_bugs.py --others          the bugs that are kept for judging
  python benchmarks/real_bugs.py --unseen          those that were collected after the diagnoses were written
  python benchmarks/real_bugs.py --plain           lines of which no reason, or a plain one, is to be told
"""
ANSWER_LINES = 3
LONGEST_S = 60


@dataclass(frozen=True)
class Outcome:
    """What came of one case; None for what was not tried."""

    case: Case
    named: bool | None
    silent: bool | None
    answer: str
    why_not: str
    false: str

    @property
    def missing(self) -> list[str]:
        return self.case.missing(first_lines(self.answer, self.case.question)) if self.named is False else []


def first_lines(answer: str, question: str) -> str:
    """Return the first lines of an answer, without the lines that name the run and the event itself."""
    lines = [line for line in answer.splitlines() if line.strip() and not line.startswith("run ")]
    return "\n".join(line for line in lines[:ANSWER_LINES] if question not in line)


def judge(case: Case, keep: Path) -> Outcome:
    named = silent = None
    answer = why_not = false = ""
    try:
        workspace = record(case, case.buggy, keep / "buggy")
        if not showed(case, workspace):
            raise OSError("the program did not show its bug")
        answer = clew(workspace, "why", case.question)
        named = not case.missing(first_lines(answer, case.question))
    except OSError as error:
        why_not = str(error)
    if case.mended is not None:
        try:
            workspace = record(case, case.mended, keep / "mended")
            if showed(case, workspace):
                raise OSError("the program shows its bug")
            claims = claimed(workspace)
            silent, false = not claims, "; ".join(claims[:2])
        except OSError as error:
            why_not = why_not or f"mended: {error}"
    return Outcome(case, named, silent, answer, why_not, false)


def record(case: Case, variant: Variant, workspace: Path) -> Path:
    """Record a variant in a folder of its own and return the folder. Raise `OSError` if it cannot be set up."""
    python = interpreter(variant.python)
    if python is None:
        raise OSError(f"no Python {variant.python} with clew")
    workspace.mkdir(parents=True)
    program = Path(shutil.copy(case.program, workspace))
    (workspace / ".clew").mkdir()
    command = [sys.executable, "-m", "clew", "run", "--quiet", "--budget", "none"]
    if case.scopes:
        spec = workspace / "bug.esl"
        scopes = ", ".join((f"{program.stem}.**", *case.scopes))
        spec.write_text(f"include standard;\nlogs;\nscope {scopes};\n")
        command += ["--spec", str(spec)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    found = libraries(variant.pins, python)
    if found is not None:
        environment["PYTHONPATH"] = str(found)
    with ExitStack() as stack:
        port = [str(stack.enter_context(server(case.server)))] if case.server else []
        output = stack.enter_context((workspace / "output").open("wb"))
        process = subprocess.Popen(
            [*command, "--", python, program.name, *port, *variant.arguments],
            cwd=workspace, env=environment, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            print(f"  {case.name} did not end in {LONGEST_S} s", file=sys.stderr)
        finally:
            end_group(process)
    return workspace


def showed(case: Case, workspace: Path) -> bool:
    """Return whether the program printed its symptom, other than as a line at level INFO."""
    lines = (workspace / "output").read_text(errors="replace").splitlines()
    return any(case.question in line and " INFO " not in line for line in lines)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a program's process group, such as children that hang."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def clew(workspace: Path, *arguments: str) -> str:
    """Return what a command of clew prints."""
    done = subprocess.run(
        [sys.executable, "-m", "clew", *arguments],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout or done.stderr


def claimed(workspace: Path) -> list[str]:
    """Return what the diagnoses claim about the newest run of a folder: what any answer or `clew hang` could tell."""
    runs = sorted((workspace / ".clew" / "runs").iterdir())
    if not runs:
        raise OSError("nothing was recorded")
    graph = open_graph(runs[-1])[0]
    if not len(graph):
        raise OSError("nothing was recorded")
    return [f"{found.kind}: {found.text}" for found in findings(Facts.of(graph))]


def told_of(lines: tuple[Line, ...], keep: Path) -> list[tuple[Line, list[str]]]:
    """Return each plain line with the unrelated sentences of its verdict. Each program is recorded once."""
    workspaces: dict[str, Path] = {}
    found = []
    for line in lines:
        if line.program not in workspaces:
            case = Case(line.program, "", (), Variant(), None, folder="plain")
            workspaces[line.program] = record(case, case.buggy, keep / line.program)
        answer = clew(workspaces[line.program], "why", line.question)
        found.append((line, line.false(first_lines(answer, line.question))))
    return found


def judge_plain(keep: Path) -> None:
    told = told_of(PLAIN, keep)
    for line, false in told:
        print(f"{line.program:12} {line.question:28} {'; '.join(false) or 'nothing unrelated'}")
    right = sum(not false for _, false in told)
    row = _row("plain lines: nothing unrelated told", len(told), len(told), right, len(told))
    print(json.dumps({"benchmark": "real_bugs", "machine": machine(), "rows": [row]}))


def shown(outcome: Outcome) -> str:
    words = {True: "yes", False: "NO", None: "not tried"}
    named, silent = words[outcome.named], words[outcome.silent]
    return f"{outcome.case.name:18} {named:10} {silent:10} {outcome.why_not}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="the cases to try; all if there is none")
    parser.add_argument("--others", action="store_true", help="only the bugs that are kept for judging")
    parser.add_argument("--answers", action="store_true", help="print each answer's first lines")
    parser.add_argument("--unseen", action="store_true", help="only the bugs that no diagnosis was written with")
    parser.add_argument("--plain", action="store_true", help="only the plain lines")
    options = parser.parse_args()
    if options.plain:
        with tempfile.TemporaryDirectory(prefix="clew-plain-", ignore_cleanup_errors=True) as folder:
            return judge_plain(Path(folder))
    every = OTHERS if options.others else UNSEEN if options.unseen else (*CASES, *OTHERS)
    chosen = [case for case in (*CASES, *OTHERS, *UNSEEN) if case.name in options.names] or every
    print(f"{'bug':18} {'named':10} {'silent':10}", flush=True)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="clew-bugs-", ignore_cleanup_errors=True) as folder:
        for case in chosen:
            outcome = judge(case, Path(folder) / case.name)
            outcomes.append(outcome)
            print(shown(outcome), flush=True)
            if options.answers or options.names:
                print(outcome.answer if options.names else first_lines(outcome.answer, outcome.case.question))
            if outcome.missing and (options.answers or options.names):
                print(f"  does not match: {', '.join(outcome.missing)}")
            if outcome.false:
                print(f"  claimed of the mended program: {outcome.false}")
    tables = {"real bugs": CASES, "other real bugs": OTHERS, "unseen real bugs": UNSEEN}
    rows = [row for name, cases in tables.items() for row in rows_of(name, cases, outcomes)]
    print(json.dumps({"benchmark": "real_bugs", "machine": machine(), "rows": rows}))


def rows_of(name: str, cases: tuple[Case, ...], outcomes: list[Outcome]) -> list[Row]:
    own = [outcome for outcome in outcomes if outcome.case in cases]
    tried = [outcome for outcome in own if outcome.named is not None]
    mended = [outcome for outcome in own if outcome.silent is not None]
    named, silent = sum(bool(one.named) for one in tried), sum(bool(one.silent) for one in mended)
    if not own:
        return []
    return [
        _row(f"{name}: cause named", len(tried), len(own), named, max(len(tried) - 1, 0)),
        _row(f"{name}: silent on mended", len(mended), len(own), silent, len(mended)),
    ]


def _row(name: str, tried: int, of: int, ours: int, asked: int) -> Row:
    """At least `asked` is asked for, of the programs that were tried."""
    return goal_row(name, f"of {tried} tried, {of} in all", ours, asked, met=ours >= asked)


if __name__ == "__main__":
    main()
