"""`clew patterns`: what threads and tasks do again and again, how often, how long, and what follows what."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.common import (
    json_option,
    open_session,
    place_cell,
    print_json,
    print_notes,
    show,
    table,
    workspace_option,
)
from clew.cli.sessions import FAILED

if TYPE_CHECKING:
    from clew.server.protocol import PatternLine, PatternRow, PatternsResult

BAR = 12
"""Characters of a bar."""
FOLLOWERS = 5
FAIL_ON = "share:50%, count:1000, raised, or several: share:50%,raised"


@dataclass(frozen=True)
class _Limits:
    """What must not be found if a build is to pass."""

    share: float | None = None
    count: int | None = None
    raised: bool = False

    def broken_by(self, row: PatternRow) -> str:
        """In what way, "" for none."""
        from clew.server import wording

        if self.share is not None and row.share >= self.share:
            return f"takes {wording.percent(row.share)} of the time"
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
            raise click.BadParameter(f"{word!r} is nothing to fail on; known: {FAIL_ON}")
    return limits


@click.command()
@click.argument("run", required=False)
@click.option("--strand", metavar="PART", default="", help="Only threads and tasks with this in `process / name`.")
@click.option(
    "--level", default="function", show_default=True, help="function, class, module, component or the spec's."
)
@click.option("--top", type=click.IntRange(1, 1000), default=15, show_default=True, help="How many patterns.")
@click.option(
    "--min-calls", type=click.IntRange(1), default=3, show_default=True, help="Patterns of at least so many calls."
)
@click.option(
    "--min-times", type=click.IntRange(2), default=2, show_default=True, help="Patterns that occur at least so often."
)
@click.option(
    "--widest", type=click.IntRange(1), default=64, show_default=True, help="At most so many calls side by side."
)
@click.option("--pattern", metavar="ID", default="", help="Tell about this one, rather than the first.")
@click.option(
    "--fail-on", "limits", metavar="WHAT", default="", callback=_limits,
    help=f"Exit with 3 and say why if a pattern is {FAIL_ON}.",
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
    """Show what the threads and tasks of RUN do again and again: calls with all that they call, and calls in a row.

    RUN is an id, a name, a folder or a foreign trace; the newest run by default. What takes the most time stands first. A
    pattern is counted wherever it occurs, also within larger ones, so shares add up to more than 100 %. Two calls are alike
    when they call the same in the same order and end alike, and so on below; how long they take does not matter. Below the
    table are the calls of one pattern, with what each takes on average wherever it is like that, and what follows it. ×12:
    twelve times in a row. docs/patterns.md tells more.

    \b
    Examples:
      clew patterns
      clew patterns --strand worker --top 5
      clew patterns before --min-calls 10 --level component
      clew patterns --pattern cde3c9c34e14
      clew patterns --fail-on count:10000        is there a loop that asks the database once per row?
      clew patterns --json | jq '.patterns[0]'
    """
    from clew.server import wording
    from clew.server.panel.patterns import MAX_PATTERNS, patterns_view
    from clew.server.protocol import PatternsParams
    from clew.server.session import Task

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
    more = (
        f"; {wording.count(len(broken) - 1, 'more pattern')} fail{'s' * (len(broken) == 2)}, too" if broken[1:] else ""
    )
    click.echo(f"clew: failed: {row.title} {why}{more}", err=True)
    return FAILED


def _show_rows(found: PatternsResult) -> None:
    from clew.server import wording

    many = len(found.strands) + found.hiddenStrands > 1
    figures = table(
        "share", "", "times", "each", "total", "self", "calls", *(["strands"] if many else []), "id", "pattern", "source",
        right=("share", "times", "each", "total", "self", "calls", "strands"),
    )  # fmt: skip
    for row in found.patterns:
        figures.add_row(
            wording.percent(row.share),
            bar(row.share),
            f"{row.count:,}",
            wording.duration(row.meanNs),
            wording.duration(row.totalNs),
            wording.duration(row.selfNs),
            f"{row.calls:,}",
            *([f"{row.strands:,}"] if many else []),
            row.id,
            row.title,
            place_cell(row.location),
        )
    show(figures)
    if found.hiddenPatterns:
        click.echo(f"and {wording.count(found.hiddenPatterns, 'more pattern')}; --top shows more")


def _show_one(found: PatternsResult, row: PatternRow) -> None:
    from clew.server import wording

    click.echo(f"pattern {row.id}, first at {wording.offset(row.firstNs)}, last over at {wording.offset(row.lastNs)}:")
    figures = table("each", "call", "source", right=("each",))
    for line in row.outline:
        figures.add_row(wording.duration(line.meanNs), f"{'  ' * line.depth}{_name(line)}", place_cell(line.location))
    show(figures)
    if row.hiddenLines:
        click.echo("and more below")
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
    """Of `BAR` characters at most; what is there is seen."""
    eighths = min(BAR * 8, max(1, round(share * BAR * 8))) if share > 0 else 0
    full, part = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[part] if part else "")
