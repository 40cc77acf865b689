"""Measure how often `clew why` names the writer of a stale state: concurrent programs with one planted wrong write each.

The state is an attribute, an item, a container, a global, a closure's variable, a row or a key, and the writer runs in another
thread, task or process. Each program is recorded, and `clew why` is asked about its error. The writer is named if the verdict
or one of the first three steps after it tells the function that wrote, on whose behalf, and what it wrote. The call tree's own
answer, the functions that ran nearest to the error, is compared with it. `--options` adds rows with further options of
`clew run`. Ten programs are for tuning, and ten for judging.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bug_programs.set_up import server
from recording.report import machine
from stale_programs.call_tree import nearest_functions
from stale_programs.case import FIRST, Case
from stale_programs.judging.cases import CASES as JUDGING
from stale_programs.tuning.cases import CASES as TUNING

from clew.graph.store.store import open_graph

EXAMPLES = """examples:
  python benchmarks/stale_state.py                        all programs, about a minute
  python benchmarks/stale_state.py --tuning               the programs for tuning
  python benchmarks/stale_state.py --options=--writes     as it is, and with an option of `clew run`
  python benchmarks/stale_state.py shop --keep /tmp/shop  one program with its whole answer; its run stays in the folder
"""
AS_IT_IS = "as it is"
AT_ONCE = 2
LONGEST_S = 60
ASKED = 0.8
"""The share of programs whose writer is to be named."""


@dataclass(frozen=True)
class Outcome:
    """What came of one program with some options of `clew run`."""

    case: Case
    options: str
    """The options, "" for none."""
    named: bool = False
    """Whether the answer names the function that wrote, on whose behalf, and the state, in one statement."""
    function: bool = False
    """Whether the answer names at least the function."""
    called: bool = False
    """Whether the function is among the first of the call tree."""
    seconds: float = 0.0
    """How long the recorded program ran, in s."""
    answer: str = ""
    why_not: str = ""
    """Why the program could not be tried, "" if it was."""


def judge(case: Case, options: str, keep: Path) -> Outcome:
    """Record a program, and judge both answers."""
    try:
        seconds = record(case, options, keep)
        found = asked(keep, case.question)
        event, statements = int(found["event"]), first_statements(found["answer"])
        run = next((keep / ".clew" / "runs").iterdir())
        called = nearest_functions(open_graph(run)[0], event)[:FIRST]
        return Outcome(
            case, options,
            named=case.named_in(statements),
            function=any(case.names_function(statement) for statement in statements),
            called=any(case.names_function(function) for function in called),
            seconds=seconds,
            answer="\n".join(statements),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Outcome(case, options, why_not=str(error))


def first_statements(answer: dict[str, Any]) -> list[str]:
    """Return the verdict, then the first steps with their places, without the step that is the event itself."""
    verdict = " ".join(sentence["text"] for sentence in answer["sentences"])
    steps = [step for step in answer["steps"] if step["event"] != answer["event"]]
    return [verdict, *(_words(step) for step in steps[:FIRST])]


def _words(step: dict[str, Any]) -> str:
    place = step["location"]
    at = f" ({Path(place['path']).name}:{place['line']})" if place else ""
    return f"{step['group']}: {step['title']}{at}"


def record(case: Case, options: str, workspace: Path) -> float:
    """Record a program in a folder and return how long it ran, in s. Raise `OSError` if its error did not show."""
    workspace.mkdir(parents=True)
    program = Path(shutil.copy(case.program, workspace))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
    with ExitStack() as stack:
        port = [str(stack.enter_context(server("redis")))] if case.across == "redis" else []
        begun = time.monotonic()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "clew", "run", "--quiet", "--budget", "none", "--workspace", "."),
                *shlex.split(options), "--", sys.executable, program.name, *port,
            ],
            cwd=workspace, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False,
        )  # fmt: skip
        seconds = time.monotonic() - begun
    (workspace / "output").write_text(done.stdout + done.stderr)
    if case.question not in done.stderr:
        raise OSError("the error did not show: " + "; ".join(done.stderr.strip().splitlines()[-2:]))
    return seconds


def asked(workspace: Path, question: str) -> dict[str, Any]:
    """Return what `clew why` answers about the newest event with a text. Raise `OSError` if it has no answer."""
    done = subprocess.run(
        [sys.executable, "-m", "clew", "why", question, "--json", "--workspace", "."],
        cwd=workspace, capture_output=True, text=True, timeout=LONGEST_S, check=False,
    )  # fmt: skip
    if done.returncode:
        raise OSError(f"no answer: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)["answers"][0]
    return found


def measure(cases: Sequence[Case], variants: Sequence[str], keep: Path) -> list[Outcome]:
    jobs = [(case, options) for options in variants for case in cases]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = []
        for outcome in pool.map(partial(_measure_one, keep), jobs):
            print(shown(outcome), flush=True)
            outcomes.append(outcome)
    return outcomes


def _measure_one(keep: Path, job: tuple[Case, str]) -> Outcome:
    case, options = job
    return judge(case, options, keep / f"{case.name}{options.replace(' ', '')}")


HEAD = f"{'program':18} {'across':8} {'kind':38} {'with':10} {'writer':7} {'function':9} {'call tree':10}"


def shown(outcome: Outcome) -> str:
    case, words = outcome.case, {True: "yes", False: "no"}
    told = [words[value] for value in (outcome.named, outcome.function, outcome.called)]
    if outcome.why_not:
        told = ["–"] * 3
    return (
        f"{case.name:18} {case.across:8} {case.kind:38} {outcome.options or AS_IT_IS:10} "
        f"{told[0]:7} {told[1]:9} {told[2]:10} {outcome.why_not}"
    ).rstrip()


def rows_of(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return a row for each set of programs and each variant; at least `ASKED` of the tried programs are asked for."""
    rows = []
    for options in dict.fromkeys(outcome.options for outcome in outcomes):
        for name, cases in (("tuning", TUNING), ("judging", JUDGING)):
            own = [outcome for outcome in outcomes if outcome.options == options and outcome.case in cases]
            tried = [outcome for outcome in own if not outcome.why_not]
            if not own:
                continue
            variant = f"with {options}" if options else AS_IT_IS
            named = sum(outcome.named for outcome in tried)
            rows.append({
                "name": f"{name}, {variant}: writer named",
                "unit": f"of {len(tried)} tried, {len(own)} in all",
                "ours": named,
                "peer": "call tree (function only)",
                "peer_value": sum(outcome.called for outcome in tried),
                "asked": ASKED * len(tried),
                "met": bool(tried) and named >= ASKED * len(tried),
                "function_only": sum(outcome.function for outcome in tried),
            })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="the programs to try; all if there is none")
    parser.add_argument("--tuning", action="store_true", help="only the programs for tuning")
    parser.add_argument("--judging", action="store_true", help="only the programs for judging")
    parser.add_argument(
        "--options", action="append", default=[], help="measure also with these options of `clew run`; repeatable"
    )
    parser.add_argument("--only-options", action="store_true", help="leave out the rows without `--options`")
    parser.add_argument("--keep", type=Path, help="a new folder that keeps the programs and their runs")
    chosen = parser.parse_args()
    cases = TUNING if chosen.tuning else JUDGING if chosen.judging else (*TUNING, *JUDGING)
    if unknown := set(chosen.names) - {case.name for case in cases}:
        parser.error(f"no program {', '.join(sorted(unknown))}; there are {', '.join(case.name for case in cases)}")
    cases = tuple(case for case in cases if not chosen.names or case.name in chosen.names)
    variants = [*([] if chosen.only_options and chosen.options else [""]), *chosen.options]
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="clew-stale-", ignore_cleanup_errors=True) as temporary:
        outcomes = measure(cases, variants, chosen.keep or Path(temporary))
    for outcome in outcomes if chosen.names else ():
        print(f"\n{outcome.case.name} {outcome.options or AS_IT_IS}\n{outcome.answer}")
    rows = rows_of(outcomes)
    print()
    for row in rows:
        print(f"{row['name']}: {row['ours']} {row['unit']}; by the call tree {row['peer_value']}")
    print(json.dumps({"benchmark": "stale_state", "machine": machine(), "rows": rows}))


if __name__ == "__main__":
    main()
