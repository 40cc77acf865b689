"""Turn the answer for a failed test into lines for a terminal and a report, and Markdown for a ticket or a hover.

`base` is the folder that paths are relative to, by default the working directory.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from clew.server.protocol.shared import Location
from clew.server.protocol.views.answer import FailedTest, Verdict
from clew.server.text import units
from clew.server.text.answer import code, escaped, folded, markdown
from clew.server.text.value_answer import chain_lines, looked, omitted_lines

_WIDEST_SOURCE = 60
MOST_REPORTED = 4
"""The suspects in a report of pytest, which has one more line."""


def with_failed_test(verdict: Verdict, failed: FailedTest | None) -> Verdict:
    """Return a verdict with the answer for the test that the event belongs to, also in its Markdown."""
    if failed is None:
        return verdict
    return replace(verdict, failedTest=failed, markdown=f"{markdown_of(failed)}\n---\n\n{markdown(verdict)}")


def lines(failed: FailedTest, width: int = 0) -> Iterator[str]:
    """Yield the answer as lines for a terminal; `width` 0 folds none."""
    yield from folded(headline(failed), width)
    yield ""
    for limit in failed.limits:
        yield from folded(limit, width)
    rows = _rows(failed)
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    for number, (title, place, evidence) in enumerate(rows, 1):
        head = f"  {number:>2}  {title:<{widths[0]}}  {place:<{widths[1]}}  "
        first, *rest = folded(evidence, max(width - len(head), 30) if width else 0)
        yield f"{head}{first}".rstrip()
        yield from (" " * len(head) + line for line in rest)
    if failed.moreSuspects:
        yield f"      and {units.count(failed.moreSuspects, 'more function')} that ran in the test"
    yield from folded(f"How sure: {failed.sure}", width)
    yield from looked_lines(failed, width)


def looked_lines(failed: FailedTest, width: int = 0, base: str | None = None) -> Iterator[str]:
    """Yield what a second look tells: the likeliest lines, how the values came about, and what did not run."""
    if failed.lines:
        yield from ("", "Lines to look at first:")
        rows = [(_place(one.location, base), one.source) for one in failed.lines]
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        for (place, source), one in zip(rows, failed.lines, strict=True):
            yield f"  {place:<{widths[0]}}  {source:<{min(widths[1], _WIDEST_SOURCE)}}  {one.evidence}".rstrip()
    if failed.value is not None:
        yield from ("", f"How the values came about ({looked(failed.value)}):")
        yield from (f"  {line}" for line in chain_lines(failed.value, base))
    if absent := [*failed.unreached, *(failed.value.omitted if failed.value is not None else ())]:
        yield from ("", "What did not run or did not change these values:")
        yield from omitted_lines(absent, base)
    notes = [*(failed.value.notes if failed.value is not None else ()), *([failed.noValue] if failed.noValue else ())]
    if notes:
        yield ""
        for note in notes:
            yield from folded(note, width)


def headline(failed: FailedTest, base: str | None = None) -> str:
    """Return the test, its outcome, the exception and where it failed, as one line."""
    exception = f": {failed.exception}" if failed.exception else ""
    return f"{units.printable(failed.test)} {failed.outcome}{exception}{_at(failed.location, base)}"


def report_lines(failed: FailedTest, base: str | None = None) -> list[str]:
    """Return at most five lines for the section of a failed test in pytest's report; none without suspects."""
    if not failed.suspects:
        return []
    rows = _rows(failed, base)[:MOST_REPORTED]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    found = [
        f"{number}  {title:<{widths[0]}}  {place:<{widths[1]}}  {evidence}".rstrip()
        for number, (title, place, evidence) in enumerate(rows, 1)
    ]
    more = failed.moreSuspects + len(failed.suspects) - len(rows)
    others = f"{units.count(more, 'more function')} ran in the test; " if more else ""
    return [*found, f"{others}details: `{command(failed.test)}`"]


def brief(failed: FailedTest, base: str | None = None) -> str:
    """Return the first suspects as one line."""
    return "; ".join(f"{title} ({place})" for title, place, _ in _rows(failed, base)[:MOST_REPORTED])


def command(test: str) -> str:
    return f"clew why --test {shlex.quote(test)}"


def markdown_of(failed: FailedTest, base: str | None = None) -> str:
    """Return the answer in Markdown."""
    parts = [f"**{escaped(headline(failed, base))}**"]
    parts += [f"> {escaped(limit)}" for limit in failed.limits]
    if failed.suspects:
        parts.append("Suspects:")
        parts.append(
            "\n".join(
                f"{number}. {code(title)} ({code(place)}): {escaped(evidence)}"
                for number, (title, place, evidence) in enumerate(_rows(failed, base), 1)
            )
        )
    if failed.moreSuspects:
        parts.append(f"{units.count(failed.moreSuspects, 'more function')} ran in the test.")
    parts.append(f"How sure: {escaped(failed.sure)}.")
    if looked_at := "\n".join(looked_lines(failed, base=base)).strip("\n"):
        parts.append(f"```text\n{looked_at}\n```")
    return "\n\n".join(parts) + "\n"


def _rows(failed: FailedTest, base: str | None = None) -> list[tuple[str, str, str]]:
    return [(each.title, _place(each.location, base), "; ".join(each.evidence)) for each in failed.suspects]


def _place(location: Location | None, base: str | None) -> str:
    return units.place(location.path, location.line, base) if location is not None else ""


def _at(location: Location | None, base: str | None) -> str:
    return f" ({_place(location, base)})" if location is not None else ""
