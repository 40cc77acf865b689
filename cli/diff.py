"""`clew diff`: what changed between runs, by functions or by the flows of requests; or between the tests of two revisions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from clew.cli.common import json_option, open_session, workspace_option
from clew.cli.diff_flows import diff_flows
from clew.cli.diff_functions import diff_functions
from clew.cli.sessions import FAILED, REFS, THRESHOLDS, diff_sessions
from clew.records.limits import HELP, Limits, parse_limits
from clew.records.run import the_workspace

BETWEEN = "\0--"
"""What click gets for `--`, which it would leave out."""


class _Sides(click.Command):
    """Keeps `--` between the runs before and those after."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [BETWEEN if word == "--" else word for word in args])


class Share(click.ParamType[float]):
    name = "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """`5%` or `0.05`."""
        if isinstance(value, float):
            return value
        try:
            share = float(value[:-1]) / 100 if value.endswith("%") else float(value)
        except ValueError:
            self.fail(f"{value!r} is no share; write 5% or 0.05", param, ctx)
        if not 0 <= share <= 1:
            self.fail(f"{value} is not between 0 and 1; for percent write {value}%", param, ctx)
        return share


@dataclass(frozen=True)
class _Given:
    """The runs of both sides."""

    before: list[str]
    after: list[str]

    @property
    def is_pair(self) -> bool:
        """Is it one whole run against another?"""
        return len(self.before) == len(self.after) == 1 and "@" not in self.before[0] + self.after[0]


@click.command(cls=_Sides)
@click.argument("runs", nargs=-1)
@click.option("--before", multiple=True, metavar="RUN", help="A run before; may be repeated.")
@click.option("--after", multiple=True, metavar="RUN", help="A run after; may be repeated.")
@click.option(
    "--by",
    type=click.Choice(["functions", "flows"]),
    help="What is compared. Default: functions where it is one run with one; else, and with options for them, flows.",
)
@click.option("--request", metavar="NAME", default="", help="Flows: only requests of this name.")
@click.option(
    "--level", default="function", show_default=True, help="function, class, module, component, … or the spec's."
)
@click.option("--coalesce", is_flag=True, help="Flows: equal calls in a row count as one.")
@click.option("--rows", type=click.IntRange(1), default=15, show_default=True, help="How many lines of figures.")
@click.option("--fail-on", metavar="WHAT", default="", help=f"Exit with 3 and say why if something is {HELP}.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option(
    "--alpha",
    type=Share(),
    help="Flows and tests: the share of what is named that may be there by chance.  [default: 5%]",
)
@click.option(
    "--slower", type=Share(), help="Flows and tests (there 10%): slower counts from this share on.  [default: 2%]"
)
@click.option(
    "--samples",
    type=click.FloatRange(0),
    help="Flows: times are compared from n*m/(n+m) of the samples on both sides on.  [default: 4]",
)
@click.option(
    "--more", type=click.IntRange(1), help="Flows: new or more frequent by at least so many requests,  [default: 5]"
)
@click.option("--share", type=Share(), help="Flows: and by this share of those of its name.  [default: 2%]")
@click.option(
    "--precursor", type=Share(), help="Flows: what one may come from has lost this share of that.  [default: 50%]"
)
@workspace_option
@json_option
def diff(
    *,
    runs: tuple[str, ...],
    before: tuple[str, ...],
    after: tuple[str, ...],
    by: str | None,
    request: str,
    level: str,
    coalesce: bool,
    rows: int,
    fail_on: str,
    as_markdown: bool,
    workspace: Path | None,
    as_json: bool,
    **thresholds: float | None,
) -> int | None:
    """Say what changed from runs BEFORE to runs AFTER: which functions got slower, or which requests, and why.

    A run is given by its id, its name (the newest of that name), its folder, or a foreign trace. Of two runs the time in each
    function's own code is compared; waiting, and time in other recorded functions, does not count.

    \b
      clew diff BEFORE AFTER
      clew diff BEFORE… -- AFTER…

    By flows, requests of one name and with the same calls are a category. Named are those that got slower, with the calls
    that did, and those that are new or more frequent, with what they may come from and the calls that differ; and what else
    tells requests that changed from others: where they ran, their values, their logs. Several runs a side tell changes of
    the program from those between any two runs. RUN@slowest, RUN@typical, RUN@fastest and RUN@EVENT are one request of a
    run. docs/compare.md explains the numbers.

    BEFORE..AFTER instead are two revisions (main, HEAD~3, a run's id) whose tests `pytest --clew` recorded: which tests' flows
    changed, or their time, and by which functions. Without AFTER it is the newest session, without BEFORE HEAD's.

    \b
    Examples:
      clew diff before after
      clew diff before after --by flows --request checkout
      clew diff mon-1 mon-2 mon-3 -- tue-1 tue-2 tue-3
      clew diff mon-1 mon-2 -- tue-1 tue-2 --by functions
      clew diff before after --fail-on slower:5%,structure --markdown
      clew diff before@typical before@slowest --request checkout
      clew diff main..HEAD
      clew diff main.. --fail-on slower:20%,structure --markdown
      clew diff before after --level component
      clew diff before after --json | jq '.rows[0]'
    """
    limits = parse_limits(fail_on) if fail_on else Limits()
    moved = {name: value for name, value in thresholds.items() if value is not None}
    for_flows = [f"--{name}" for name in moved] + ["--request"] * bool(request) + ["--coalesce"] * coalesce
    if len(runs) == 1 and REFS in runs[0] and not before and not after:
        for_flows = [option for option in for_flows if option[2:] not in THRESHOLDS]
        if by or for_flows:
            raise click.UsageError(
                f"{for_flows[0] if for_flows else '--by'} is for runs, not for the tests of revisions"
            )
        return diff_sessions(
            runs[0], the_workspace(workspace), limits, as_json=as_json, as_markdown=as_markdown,
            thresholds={THRESHOLDS[name]: value for name, value in moved.items()},
        )  # fmt: skip
    given = _given(runs, before, after)
    for_flows += ["--fail-on"] * bool(fail_on) + ["--markdown"] * as_markdown
    session = open_session(workspace)
    if by == "functions" or (by is None and given.is_pair and not for_flows):
        _check_functions(given, limits, for_flows)
        from clew.server.protocol import DiffParams

        params = DiffParams(given.before[0], given.after[0], level, rows, given.before[1:], given.after[1:])
        why = diff_functions(session, params, limits, as_json=as_json, as_markdown=as_markdown)
    else:
        from clew.server.protocol import CompareParams, CompareThresholds

        if limits.slower:
            # What a build fails on must be named.
            moved["slower"] = min(limits.slower, moved.get("slower", CompareThresholds.slower))
        chosen = CompareThresholds(**moved)  # type: ignore[arg-type]  # `more` is whole, by its option
        why = diff_flows(
            session,
            CompareParams(given.before, given.after, request, level, coalesce, maxRows=rows, thresholds=chosen),
            limits,
            as_json=as_json,
            as_markdown=as_markdown,
        )
    if why:
        click.echo(f"clew: {why}", err=True)
    return FAILED if why else None


def _given(runs: tuple[str, ...], before: tuple[str, ...], after: tuple[str, ...]) -> _Given:
    """Raises `UsageError` where the sides are not told apart, or one is empty."""
    if BETWEEN in runs:
        cut = runs.index(BETWEEN)
        sides = [*before, *runs[:cut]], [*after, *runs[cut + 1 :]]
        if BETWEEN in sides[1]:
            raise click.UsageError("there is more than one --; write BEFORE… -- AFTER…")
    elif len(runs) == 2 and not before and not after:
        sides = [runs[0]], [runs[1]]
    elif len(runs) > 2:
        raise click.UsageError(f"of {len(runs)} runs, which are before? Write BEFORE… -- AFTER…")
    elif runs and bool(before) == bool(after):
        what = "before or after" if before else "to be compared with"
        raise click.UsageError(f"what is {runs[0]!r} {what}? Give two runs, or two revisions: main..HEAD")
    else:
        sides = [*before, *(() if before else runs)], [*after, *(() if after else runs)]
    for name, side in zip(("before", "after"), sides, strict=True):
        if not side:
            raise click.UsageError(f"name a run {name}: clew diff BEFORE… -- AFTER…")
    return _Given(*sides)


def _check_functions(given: _Given, limits: Limits, for_flows: list[str]) -> None:
    only = [word for word in for_flows if word not in ("--fail-on", "--markdown")]
    if only:
        raise click.UsageError(f"{only[0]} is for flows; leave out --by functions")
    if any("@" in run for run in (*given.before, *given.after)):
        raise click.UsageError("functions are compared of whole runs, not of one request; leave out --by functions")
    if limits.structure:
        raise click.UsageError("structure is told by flows; leave out --by functions")
