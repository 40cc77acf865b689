"""Report the comparison of test sessions: lines for a terminal, Markdown for a pull request, the reason a build fails.

Invariant: every report counts the entries that it leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clew.compare.report_text import at, escaped
from clew.compare.sessions.attribution import CallChange, Responsible
from clew.compare.sessions.function_changes import FunctionChange
from clew.compare.sessions.result import FASTER, OUTCOME, SLOWER, STRUCTURE, Suites, TestChange, percent
from clew.graph.ops.diff import duration
from clew.records.run.failure_conditions import Limits

SHOWN = 12
"""Maximum number of changes on a terminal."""
SHOWN_MARKDOWN = 40
NAMED = 3
BELOW = 4
"""Maximum number of functions or calls below one change."""
_TITLES = {SLOWER: "slower", STRUCTURE: "flow", OUTCOME: "outcome", FASTER: "faster"}


@dataclass(frozen=True)
class Cause:
    """A call that appeared, disappeared or changed in number, and the tests whose flow contains the change."""

    call: CallChange
    """The change in the first of these tests."""
    tests: tuple[str, ...]

    def sentence(self, named: int) -> str:
        names = f"{', '.join(self.tests[:named])}{_more(len(self.tests) - named)}"
        return f"{self.call.sentence()}: {f'in {len(self.tests):,} tests: ' if len(self.tests) > 1 else ''}{names}"


def causes(suites: Suites) -> list[Cause]:
    """Group changed flows by their common change, most tests first."""
    found: dict[tuple[str, str, bool], list[tuple[CallChange, str]]] = {}
    for row in suites.of(STRUCTURE):
        for call in row.calls:
            tests = found.setdefault((call.label, call.caller, call.after > call.before), [])
            if not tests or tests[-1][1] != row.name:
                tests.append((call, row.name))
    made = [Cause(of[0][0], tuple(test for _, test in of)) for of in found.values()]
    return sorted(made, key=lambda cause: (-len(cause.tests), cause.call.label))


def report(suites: Suites, title: str, root: str) -> list[str]:
    """Return lines for a terminal; `title` names the baseline, paths are shown relative to `root`."""
    lines = [f"compared with {title}", _counts(suites)]
    blocks = [_block(row, root) for row in suites.of(SLOWER)]
    blocks += [[f"function {it.sentence()}{at(it.location, root)}"] for it in suites.functions[:BELOW]]
    blocks += [[f"flow     {cause.sentence(NAMED)}{at(cause.call.location, root)}"] for cause in causes(suites)]
    blocks += [_block(row, root) for row in suites.of(OUTCOME, FASTER)]
    lines += [line for block in blocks[:SHOWN] for line in block]
    if len(blocks) > SHOWN:
        lines.append(f"and {len(blocks) - SHOWN:,} more; run `clew diff --json` with the same names to see all")
    if len(suites.of(SLOWER)) > 1:
        lines += ["responsible for the slower tests:"]
        lines += [f"  {function.sentence()}{at(function.location, root)}" for function in suites.responsible[:BELOW]]
    return lines + suites.certainty()


def markdown(suites: Suites, title: str, root: str) -> str:
    """Return the report in GitHub-flavoured Markdown."""
    lines = [f"### clew: {_counts(suites)}", "", f"Compared with {escaped(title)}.", ""]
    timed = [row for row in suites.rows if row.kind in (SLOWER, FASTER)][:SHOWN_MARKDOWN]
    if timed:
        lines += [
            "| | test | before | after | change (95 %) | p | responsible |",
            "| --- | --- | ---: | ---: | --- | ---: | --- |",
        ]
        for row in timed:
            assert row.share is not None
            change = percent(row.share)
            if row.low is not None and row.high is not None:
                change += f" ({percent(row.low)} – {percent(row.high)})"
            p = "" if row.p is None else f"{row.p:.2g}"
            functions = "<br>".join(
                f"`{_cell(it.label)}` {_growth(it)}{at(it.location, root)}" for it in row.functions[:BELOW]
            )
            lines.append(
                f"| {_TITLES[row.kind]} | `{_cell(row.name)}` | {duration(row.before_ns or 0)} | "
                f"{duration(row.after_ns or 0)} of {row.measure} | {change} | {p} | {functions} |"
            )
        lines.append("")
    if suites.functions:
        lines += ["| function | own time per call | p | tests | total |", "| --- | --- | ---: | ---: | ---: |"]
        lines += [
            f"| `{_cell(it.label)}`{at(it.location, root)} | {percent(it.share)} ({percent(it.low)} – {percent(it.high)}) | "
            f"{it.p:.2g} | {it.tests:,} | {_growth(it)} |"
            for it in suites.functions[:SHOWN_MARKDOWN]
        ]
        lines.append("")
    found = causes(suites)
    if found:
        lines += ["| flow | tests |", "| --- | --- |"]
        for cause in found[:SHOWN_MARKDOWN]:
            tests = "<br>".join(f"`{_cell(test)}`" for test in cause.tests[:BELOW]) + _more(
                len(cause.tests) - BELOW, "<br>"
            )
            lines.append(f"| {_cell(cause.call.sentence())}{at(cause.call.location, root)} | {tests} |")
        lines.append("")
    others = suites.of(OUTCOME)[:SHOWN_MARKDOWN]
    if others:
        lines += ["| outcome | what changed |", "| --- | --- |"]
        for row in others:
            what = "<br>".join(_cell(text) for text in [row.sentence(), *_below(row, root)])
            lines.append(f"| `{_cell(row.name)}` | {what} |")
        lines.append("")
    hidden = len(suites.of(SLOWER, FASTER, OUTCOME)) - len(timed) - len(others) + max(len(found) - SHOWN_MARKDOWN, 0)
    if hidden:
        lines += [f"And {hidden:,} more.", ""]
    lines += ["<details><summary>How certain is this?</summary>", ""]
    lines += [f"- {escaped(text)}" for text in suites.certainty()]
    return "\n".join([*lines, "", escaped(suites.explain()), "", "</details>", ""])


def failed(suites: Suites, limits: Limits) -> str:
    """Return the reason why a build fails; "" if it passes."""
    reasons = []
    slow = [row for row in suites.of(SLOWER) if limits.slower is not None and (row.share or 0) >= limits.slower]
    if slow:
        reasons.append(f"{_subjects(slow)} slower" + (f" by {limits.slower:.0%} or more" if limits.slower else ""))
    other = suites.of(STRUCTURE) if limits.structure else ()
    if other:
        reasons.append(f"{_subjects(other)} with a changed flow")
    return f"failed: {' and '.join(reasons)}" if reasons else ""


def by_test(suites: Suites) -> list[dict[str, Any]]:
    """Return the sentences per test id: the properties of a JUnit report."""
    found: dict[str, dict[str, str]] = {}
    for row in suites.rows:
        of = "" if row.subject.kind == "test" or row.kind == OUTCOME else f"{row.subject.kind}: "
        sentences = found.setdefault(row.subject.name, {})
        name = f"clew_{row.kind}"
        sentences[name] = f"{sentences[name]}; {of}{row.sentence()}" if name in sentences else of + row.sentence()
    return [{"name": name, "sentences": sentences} for name, sentences in found.items()]


def _counts(suites: Suites) -> str:
    """Return the sentence without its example, which the report shows below."""
    return suites.sentence().partition("; first, ")[0].partition("; but ")[0]


def _block(row: TestChange, root: str) -> list[str]:
    return [
        f"{_TITLES[row.kind]:8} {row.name}: {row.sentence() if row.kind == OUTCOME else row.statistics()}",
        *(f"           {text}" for text in _below(row, root)),
    ]


def _more(count: int, before: str = " ") -> str:
    return f"{before}and {count:,} more" if count > 0 else ""


def _below(row: TestChange, root: str) -> list[str]:
    shown: list[CallChange | Responsible] = [*row.functions, *row.calls]
    lines = [f"{it.sentence()}{at(it.location, root)}" for it in shown[:BELOW]]
    return lines + [f"and {len(shown) - BELOW:,} more"] * (len(shown) > BELOW)


def _subjects(rows: Sequence[TestChange]) -> str:
    first = str(rows[0].subject)
    return f"{first} is" if len(rows) == 1 else f"{first} and {len(rows) - 1:,} more are"


def _growth(function: Responsible | FunctionChange) -> str:
    return f"{'+' if function.growth_ns > 0 else '−'}{duration(abs(function.growth_ns))}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
