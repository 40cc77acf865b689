"""`clew patterns`: show the call sequences that threads and tasks repeat: how often, how long, and in which order."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.commands.answer.diff_tests import FAILED
from clew.cli.output.options import (
    json_option,
    open_session,
    place_cell,
    print_json,
    print_notes,
    show,
    table,
    workspace_option,
)

if TYPE_CHECKING:
    from clew.server.protocol.views.patterns import PatternLine, PatternRow, PatternsResult

BAR = 12
"""Length of a bar in characters."""
FOLLOWERS = 5
FAIL_ON = "share:50%, count:1000, raised, or several: share:50%,raised"


@dataclass(frozen=True)
class _Limits:
    """Conditions that fail a build."""

    share: float | None = None
    count: int | None = None
    raised: bool = False

    def broken_by(self, row: PatternRow) -> str:
        """Return the violated condition, or ""."""
        from clew.server.text import units

        if self.share is not None and row.share >= self.share:
            return f"takes {units.percent(row.share)} of the time"
        if self.count is not None and row.count >= self.count:
            return f"occurs {row.count:,} times"
        return "raises" if self.raised and row.raised else ""


def _limits(_ctx: click.Context, _param: click.Parameter, text: str) -> _Limits:
    limits = _Limits()
    for word in filter(None, (part.strip() for part in text.split(","))):
        share, count = re.fullmatch(r"share:(\d+(?:\.\d+)?)%", word), re.fullmatch(r"count:(\d+)", word)
        if share:
            limits = replace(limits, share=float(share[1]) / 100)
        elif count:
            limits = replace(limits, count=int(count[1]))
        elif word == "raised":
            limits = replace(limits, raised=True)
        else:
            raise click.BadParameter(f"unknown --fail-on condition {word!r}; expected {FAIL_ON}")
    return limits


@click.command()
@click.argument("run", required=False)
@click.option(
    "--strand", metavar="PART", default="", help="Only threads and tasks whose `process / name` contains PART."
)
@click.option(
    "--level",
    default="function",
    show_default=True,
    help="Level: function, class, module, component or one of the spec.",
)
@click.option("--top", type=click.IntRange(1, 1000), default=15, show_default=True, help="Maximum patterns to print.")
@click.option("--min-calls", type=click.IntRange(1), default=3, show_default=True, help="Minimum calls in a pattern.")
@click.option(
    "--min-times", type=click.IntRange(2), default=2, show_default=True, help="Minimum occurrences of a pattern."
)
@click.option(
    "--widest", type=click.IntRange(1), default=64, show_default=True, help="Maximum calls in one level of a pattern."
)
@click.option("--pattern", metavar="ID", default="", help="Show this pattern in detail. Default: the first.")
@click.option(
    "--fail-on", "limits", metavar="WHAT", default="", callback=_limits,
    help=f"Exit with 3 and print the reason if a pattern is {FAIL_ON}.",
)  # fmt: skip
@workspace_option
@json_option
def patterns(
    *,
    run: str | None,
    strand: str,
    level: str,
    top: int,
    min_calls: int,
    min_times: int,
    widest: int,
    pattern: str,
    limits: _Limits,
    workspace: Path | None,
    as_json: bool,
) -> int:
    """Show what the threads and tasks of RUN repeat: calls with all their callees, and sequences of calls.

    RUN is an id, a name, a folder or a foreign trace; the default is the newest run. Patterns are sorted by time. A
    pattern is counted wherever it occurs, also within larger ones, so shares can add up to more than 100 %. Two calls
    are alike when they make the same calls in the same order and end alike, recursively; their duration does not
    matter. Below the table are the calls of one pattern, with their mean duration in that position, and its successors.
    ×12 means twelve times in a row. See docs/patterns.md for details.

    \b
    Examples:
      clew patterns
      clew patterns --strand worker --top 5
      clew patterns before --min-calls 10 --level component
      clew patterns --pattern cde3c9c34e14
      clew patterns --fail-on count:10000        is there a loop that asks the database once per row?
      clew patterns --json | jq '.patterns[0]'
    """
    from clew.server.protocol.views.patterns import PatternsParams
    from clew.server.session.session import Task
    from clew.server.text import units
    from clew.server.views.patterns.view import MAX_PATTERNS, patterns_view

    params = PatternsParams(
        run=run or "", strand=strand, level=level, calls=min_calls, times=min_times, widest=widest,
        maxPatterns=MAX_PATTERNS if pattern or limits != _Limits() else top, pattern=pattern,
    )  # fmt: skip
    found = patterns_view(open_session(workspace), params, Task())
    broken = [(row, why) for row in found.patterns if (why := limits.broken_by(row))]
    chosen = next((row for row in found.patterns if row.id == found.pattern), None)
    hidden = found.hiddenPatterns + max(0, len(found.patterns) - top)
    found = replace(found, patterns=found.patterns[:top], hiddenPatterns=hidden)
    if as_json:
        print_json(found)
    else:
        click.echo(f"run {found.run.name}: {found.sentence}")
        if found.message:
            click.echo(found.message)
        if found.patterns:
            click.echo()
            _show_rows(found)
        if chosen is not None:
            click.echo()
            _show_one(found, chosen)
        print_notes(found.run.problems)
    if not broken:
        return 0
    row, why = broken[0]
    more = f"; {units.count(len(broken) - 1, 'more pattern')} fail{'s' * (len(broken) == 2)}, too" if broken[1:] else ""
    click.echo(f"clew: failed: {row.title} {why}{more}", err=True)
    return FAILED


def _show_rows(found: PatternsResult) -> None:
    from clew.server.text import units

    many = len(found.strands) + found.hiddenStrands > 1
    grid = table(
        "share", "", "times", "each", "total", "self", "calls", *(["strands"] if many else []), "id", "pattern", "source",
        right=("share", "times", "each", "total", "self", "calls", "strands"),
    )  # fmt: skip
    for row in found.patterns:
        grid.add_row(
            units.percent(row.share),
            bar(row.share),
            f"{row.count:,}",
            units.duration(row.meanNs),
            units.duration(row.totalNs),
            units.duration(row.selfNs),
            f"{row.calls:,}",
            *([f"{row.strands:,}"] if many else []),
            row.id,
            row.title,
            place_cell(row.location),
        )
    show(grid)
    if found.hiddenPatterns:
        click.echo(f"and {units.count(found.hiddenPatterns, 'more pattern')}; use --top to show more")


def _show_one(found: PatternsResult, row: PatternRow) -> None:
    from clew.server.text import units

    click.echo(f"pattern {row.id}, first start {units.offset(row.firstNs)}, last end {units.offset(row.lastNs)}:")
    grid = table("each", "call", "source", right=("each",))
    for line in row.outline:
        grid.add_row(units.duration(line.meanNs), f"{'  ' * line.depth}{_name(line)}", place_cell(line.location))
    show(grid)
    if row.hiddenLines:
        click.echo("deeper calls are not shown")
    titles = {other.id: other.title for other in found.patterns}
    for words, steps in (
        ("followed by", [(step.after, step.count) for step in found.successions if step.before == row.id]),
        ("preceded by", [(step.before, step.count) for step in found.successions if step.after == row.id]),
    ):
        named = [f"{'itself' if which == row.id else titles.get(which, which)} ({count:,}x)" for which, count in steps]
        if named:
            click.echo(f"{words} {'; '.join(named[:FOLLOWERS])}{'; …' if named[FOLLOWERS:] else ''}")


def _name(line: PatternLine) -> str:
    marks = [f"×{line.repeats:,}"] if line.repeats > 1 else []
    marks += ["resumed"] if line.resumed else []
    marks += [line.end] if line.end != "returned" else []
    return " ".join([line.label, *marks])


def bar(share: float) -> str:
    """Draw up to `BAR` characters; a share above zero is always visible."""
    eighths = min(BAR * 8, max(1, round(share * BAR * 8))) if share > 0 else 0
    full, part = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[part] if part else "")
