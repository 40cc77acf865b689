"""Measure mutants: the rank of the mutated function by each method, and the tables of the ranks."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from recording.report import Row, goal_row, line

from mutation.asked import Answer, mutated_function, record, suspects
from mutation.packages import package
from mutation.rankings import NEVER, ochiai, rank_of, sign_test
from mutation.search import Mutant
from mutation.set_up import Checkout, Place, Session, checkout

TRACEBACK, CALL_TREE, OCHIAI = "traceback", "call tree, breadth first", "Ochiai over lines"
WHY, LOOK = "clew why --no-again", "clew why, with a second look"
PEERS = (TRACEBACK, CALL_TREE, OCHIAI)
TOPS = (1, 3, 5, 10)
ASKED = {1: 48, 3: 68, 5: 80}
"""Percent of all mutants whose function is among the first suspects, without a second look."""
ASKED_OF_LOOK = {1: 65, 3: 82, 5: 90}
ASKED_LINE, ASKED_CHAIN, ASKED_SECONDS = 70, 50, 2
"""Percent of mutants whose line is among the first five, percent of wrong values whose chain has the line, and seconds."""


@dataclass(frozen=True)
class Measured:
    mutant: Mutant
    ranks: dict[str, float] = field(default_factory=dict)
    """The rank of the mutated function by each method; `NEVER` if it is not in the list."""
    problem: str = ""
    """Why it was not measured, or why a method gave no answer."""
    line_rank: float = NEVER
    """The rank of the mutated line among the lines of a second look."""
    is_in_chain: bool = False
    """Whether the chain of values has the mutated line."""
    is_in_chains: bool = False
    """Whether that chain, or one that tells why something did not run, has the mutated line."""
    line_ran: bool = False
    """Whether the test that is asked about runs the mutated line."""
    seconds_without: float = math.nan
    """How long the answer without a second look took."""
    seconds: float = math.nan
    """How long the answer with a second look took."""


Answerer = Callable[[Mutant, Checkout], Answer]
"""Asks clew about a recorded mutant."""
ANSWERERS: dict[str, Answerer] = {
    WHY: lambda mutant, made: suspects(mutant, made, "--no-again"),
    LOOK: lambda mutant, made: suspects(mutant, made, "--again"),
}
"""How clew is asked about a recorded mutant. Another kind of question is a row here."""


def measure(mutant: Mutant) -> Measured:
    with tempfile.TemporaryDirectory(prefix="clew-mutants-", ignore_cleanup_errors=True) as folder:
        made = checkout(package(mutant.package), Path(folder, mutant.package))
        mutant.apply(made)
        place = mutated_function(mutant, made)
        session = made.run(mutant.test_file, measure="lines")
        if session is None or session.outcomes.get(mutant.test) != "failed":
            return Measured(mutant, problem=f"{mutant.test} did not fail")
        ranks = {name: rank_of(place, found) for name, found in _peers(mutant, made, session).items()}
        record(mutant, made)
        answers = {name: answerer(mutant, made) for name, answerer in ANSWERERS.items()}
        ranks |= {name: rank_of(place, answer.suspects) for name, answer in answers.items()}
        looked, line = answers[LOOK], (mutant.file, mutant.edit.line)
        return Measured(
            mutant,
            ranks,
            "; ".join(answer.problem for answer in answers.values() if answer.problem),
            looked.lines.index(line) + 1 if line in looked.lines else NEVER,
            line in looked.chain,
            line in (*looked.chain, *looked.decisions),
            mutant.test in session.lines.get(mutant.file, {}).get(mutant.edit.line, ()),
            answers[WHY].seconds,
            looked.seconds,
        )


def _peers(mutant: Mutant, made: Checkout, session: Session) -> dict[str, list[Place]]:
    called = made.run(mutant.test, measure="calls")
    return {
        TRACEBACK: session.raised[mutant.test],
        CALL_TREE: called.calls if called is not None else [],
        OCHIAI: ochiai(session, made.code, mutant.id),
    }


def measure_all(mutants: Sequence[Mutant], jobs: int, done: Callable[[Measured], None]) -> list[Measured]:
    """Measure mutants, `jobs` at a time, and call `done` with each."""
    with ThreadPoolExecutor(jobs) as pool:
        found = []
        for one in pool.map(measure, mutants):
            done(one)
            found.append(one)
    return found


def table(measured: Sequence[Measured]) -> list[str]:
    """Return the Markdown lines of the main table: in how many mutants the function is in the first 1/3/5/10."""
    groups = _groups(measured)
    lines = [
        line(["function in top 1/3/5/10", *(f"{name} ({len(group)})" for name, group in groups.items())]),
        line(["---"] * (1 + len(groups))),
    ]
    for method in _methods(measured):
        lines.append(line([method, *(_hits(group, method) for group in groups.values())]))
    return lines


def look_table(measured: Sequence[Measured]) -> list[str]:
    """Return the lines of the table of what a second look finds beyond functions."""
    heads = [
        "with a second look",
        "mutants",
        "line in top 1/3/5",
        "in the chain",
        "… of those that run",
        "in any chain",
    ]
    heads.append("median")
    lines = [line(heads), line(["---"] * len(heads))]
    for name, group in _groups(measured).items():
        ran = [one for one in group if one.line_ran]
        tops = "/".join(str(sum(one.line_rank <= top for one in group)) for top in (1, 3, 5))
        chains = sum(one.is_in_chain for one in group), sum(one.is_in_chain for one in ran)
        cells = [name, str(len(group)), tops, str(chains[0]), f"{chains[1]} of {len(ran)}"]
        cells += [str(sum(one.is_in_chains for one in group)), f"{_median([one.seconds for one in group]):.1f} s"]
        lines.append(line(cells))
    return lines


def _median(seconds: Sequence[float]) -> float:
    took = [one for one in seconds if not math.isnan(one)]
    return statistics.median(took) if took else math.nan


def look_rows(measured: Sequence[Measured]) -> list[Row]:
    """Return the rows of the last line about a second look."""
    found: list[Row] = []

    def add(name: str, unit: str, ours: float, asked: float, *, met: bool) -> None:
        found.append(goal_row(f"second look: {name}", unit, ours, asked, met=met))

    for top, asked in ASKED_OF_LOOK.items():
        ours = _percent(measured, LOOK, top)
        add(f"function in top {top}", f"% of {len(measured)}", ours, asked, met=ours >= asked)
    ours = round(100 * sum(one.line_rank <= 5 for one in measured) / len(measured), 1)
    add("line in top 5", f"% of {len(measured)}", ours, ASKED_LINE, met=ours >= ASKED_LINE)
    if wrong := [one for one in measured if one.mutant.wrong_value]:
        for name, held in (
            ("the chain of the value has the line", sum(one.is_in_chain for one in wrong)),
            ("that, or a chain of what did not run", sum(one.is_in_chains for one in wrong)),
        ):
            ours = round(100 * held / len(wrong), 1)
            add(name, f"% of {len(wrong)}", ours, ASKED_CHAIN, met=ours >= ASKED_CHAIN)
    for name, seconds in (
        ("seconds of the whole answer", [one.seconds for one in measured]),
        ("of these, seconds of the look", [one.seconds - one.seconds_without for one in measured]),
    ):
        took = round(_median(seconds), 2)
        add(name, "s", took, ASKED_SECONDS, met=took <= ASKED_SECONDS)
    return found


def package_table(measured: Sequence[Measured]) -> list[str]:
    names = list(dict.fromkeys(one.mutant.package for one in measured))
    methods = _methods(measured)
    lines = [line(["package", "mutants", *methods]), line(["---"] * (2 + len(methods)))]
    for name in names:
        own = [one for one in measured if one.mutant.package == name]
        lines.append(line([name, str(len(own)), *(_hits(own, method) for method in methods)]))
    return lines


def pair_table(measured: Sequence[Measured]) -> list[str]:
    """Return the lines of paired sign tests of `clew why` with each other method."""
    lines = [line(["only clew / only the other, p", *(f"top {top}" for top in TOPS)]), line(["---"] * (1 + len(TOPS)))]
    for name, peer in [(WHY, peer) for peer in PEERS] + [(LOOK, WHY)]:
        cells = []
        for top in TOPS:
            ours, theirs, p = sign_test(
                [one.ranks[name] <= top for one in measured], [one.ranks[peer] <= top for one in measured]
            )
            cells.append(f"{ours} / {theirs}, {p:.2g}")
        lines.append(line([f"{name}: {peer}", *cells]))
    return lines


def rows(measured: Sequence[Measured]) -> list[Row]:
    """Return the rows of the last line: percent of the mutants of each group, a peer each."""
    found = []
    for name, group in _groups(measured).items():
        for top in TOPS:
            ours = _percent(group, WHY, top)
            asked = ASKED.get(top) if name == "all" else None
            for peer in PEERS:
                found.append(
                    {
                        "name": f"mutants, {name}: function in top {top}", "unit": f"% of {len(group)}",
                        "ours": ours, "peer": peer, "peer_value": _percent(group, peer, top),
                        "asked": asked, "met": asked is None or ours >= asked,
                    }
                )  # fmt: skip
    return found


def _groups(measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    groups = {
        "all": list(measured),
        "wrong values": [one for one in measured if one.mutant.wrong_value],
        "crashes": [one for one in measured if not one.mutant.wrong_value],
        "deleted statements": [one for one in measured if one.mutant.deleted],
    }
    return {name: group for name, group in groups.items() if group}


def _methods(measured: Sequence[Measured]) -> list[str]:
    return list(measured[0].ranks) if measured else []


def _hits(group: Sequence[Measured], method: str) -> str:
    return "/".join(str(sum(one.ranks.get(method, NEVER) <= top for one in group)) for top in TOPS)


def _percent(group: Sequence[Measured], method: str, top: int) -> float:
    return round(100 * sum(one.ranks.get(method, NEVER) <= top for one in group) / len(group), 1)
