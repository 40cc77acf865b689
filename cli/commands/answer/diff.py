"""`clew diff`: compare runs by functions or by request flows, or compare the tests of two revisions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from clew.cli.commands.answer.diff_flows import diff_flows
from clew.cli.commands.answer.diff_functions import diff_functions
from clew.cli.commands.answer.diff_tests import FAILED, REFS, THRESHOLDS, diff_sessions
from clew.cli.output.options import json_option, open_session, workspace_option
from clew.records.run.directory import the_workspace
from clew.records.run.failure_conditions import HELP, Limits, parse_limits

BETWEEN = "\0--"
"""Placeholder passed to click for `--`, which click would drop."""


class _Sides(click.Command):
    """Pass `--` through to the command, as the separator between the runs before and after."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [BETWEEN if word == "--" else word for word in args])


class Share(click.ParamType[float]):
    name = "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse `5%` or `0.05`."""
        if isinstance(value, float):
            return value
        try:
            share = float(value[:-1]) / 100 if value.endswith("%") else float(value)
        except ValueError:
            self.fail(f"{value!r} is not a share; write 5% or 0.05", param, ctx)
        if not 0 <= share <= 1:
            self.fail(f"{value} is not between 0 and 1; write {value}% for percent", param, ctx)
        return share


@dataclass(frozen=True)
class _Given:
    """The runs of both sides."""

    before: list[str]
    after: list[str]

    @property
    def is_pair(self) -> bool:
        """Tell whether one whole run is compared with another."""
        return len(self.before) == len(self.after) == 1 and "@" not in self.before[0] + self.after[0]


@click.command(cls=_Sides)
@click.argument("runs", nargs=-1)
@click.option("--before", multiple=True, metavar="RUN", help="A run before the change. Repeatable.")
@click.option("--after", multiple=True, metavar="RUN", help="A run after the change. Repeatable.")
@click.option(
    "--by",
    type=click.Choice(["functions", "flows"]),
    help="Unit of comparison. Default: functions for two runs without flow options, else flows.",
)
@click.option("--request", metavar="NAME", default="", help="Flows: only requests of this name.")
@click.option(
    "--level",
    default="function",
    show_default=True,
    help="Level: function, class, module, component, … or one of the spec.",
)
@click.option("--coalesce", is_flag=True, help="Flows: count consecutive equal calls as one, in any order.")
@click.option(
    "--order/--no-order",
    "ordered",
    default=True,
    help="Flows: whether order and parallelism of calls distinguish them.  [default: order]",
)
@click.option("--rows", type=click.IntRange(1), default=15, show_default=True, help="Maximum rows to print.")
@click.option("--fail-on", metavar="WHAT", default="", help=f"Exit with 3 and print the reason if something is {HELP}.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option(
    "--alpha",
    type=Share(),
    help="Flows and tests: accepted share of false positives.  [default: 5%]",
)
@click.option("--slower", type=Share(), help="Flows and tests: minimum slowdown (tests: 10%).  [default: 2%]")
@click.option(
    "--samples",
    type=click.FloatRange(0),
    help="Flows: minimum n*m/(n+m) of the sample counts to compare times.  [default: 4]",
)
@click.option("--more", type=click.IntRange(1), help="Flows: minimum increase in requests.  [default: 5]")
@click.option(
    "--share", type=Share(), help="Flows: minimum increase as a share of requests of the same name.  [default: 2%]"
)
@click.option(
    "--precursor",
    type=Share(),
    help="Flows: minimum share of the increase that a precursor must have lost.  [default: 50%]",
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
    ordered: bool,
    rows: int,
    fail_on: str,
    as_markdown: bool,
    workspace: Path | None,
    as_json: bool,
    **thresholds: float | None,
) -> int | None:
    """Compare the runs BEFORE with the runs AFTER: which functions or requests became slower, and why.

    Give a run as an id, a name (the newest of that name), a folder, or a foreign trace. For two runs, the self time of
    each function is compared; waiting and time in other recorded functions do not count.

    \b
      clew diff BEFORE AFTER
      clew diff BEFORE… -- AFTER…

    With --by flows, requests with the same name and the same calls form a category. The report lists categories that
    became slower, with the slower calls, and categories that are new or more frequent, with their likely precursors and
    the calls that differ. It also lists what distinguishes changed requests: where they ran, their values, their logs.
    Several runs per side separate changes of the program from the variation between runs. RUN@slowest, RUN@typical,
    RUN@fastest and RUN@EVENT select one request of a run. See docs/compare.md for the statistics.

    BEFORE..AFTER are instead two revisions (main, HEAD~3, a run's id) whose tests `pytest --clew` recorded. The report
    lists the tests whose flow or duration changed, and the functions responsible. AFTER defaults to the newest session,
    BEFORE to HEAD.

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
    for_flows += ["--no-order"] * (not ordered)
    if len(runs) == 1 and REFS in runs[0] and not before and not after:
        for_flows = [option for option in for_flows if option[2:] not in THRESHOLDS]
        if by or for_flows:
            raise click.UsageError(
                f"{for_flows[0] if for_flows else '--by'} applies to runs, not to tests of revisions"
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
        from clew.server.protocol.views.diff import DiffParams

        params = DiffParams(given.before[0], given.after[0], level, rows, given.before[1:], given.after[1:])
        why = diff_functions(session, params, limits, as_json=as_json, as_markdown=as_markdown)
    else:
        from clew.server.protocol.views.compare import CompareParams, CompareThresholds

        if limits.slower:
            # The report must include every row that a build fails on.
            moved["slower"] = min(limits.slower, moved.get("slower", CompareThresholds.slower))
        chosen = CompareThresholds(**moved)  # type: ignore[arg-type]  # `more` is whole, by its option
        why = diff_flows(
            session,
            CompareParams(
                given.before,
                given.after,
                request,
                level,
                coalesce,
                anyOrder=not ordered,
                maxRows=rows,
                thresholds=chosen,
            ),
            limits,
            as_json=as_json,
            as_markdown=as_markdown,
        )
    if why:
        click.echo(f"clew: {why}", err=True)
    return FAILED if why else None


def _given(runs: tuple[str, ...], before: tuple[str, ...], after: tuple[str, ...]) -> _Given:
    """Split the runs into the two sides. Raises `UsageError` when the sides are ambiguous or one is empty."""
    if BETWEEN in runs:
        cut = runs.index(BETWEEN)
        sides = [*before, *runs[:cut]], [*after, *runs[cut + 1 :]]
        if BETWEEN in sides[1]:
            raise click.UsageError("`--` given more than once; write BEFORE… -- AFTER…")
    elif len(runs) == 2 and not before and not after:
        sides = [runs[0]], [runs[1]]
    elif len(runs) > 2:
        raise click.UsageError(f"{len(runs)} runs given without `--`; write BEFORE… -- AFTER…")
    elif runs and bool(before) == bool(after):
        extra = f"{runs[0]!r} given next to --before and --after" if before else f"only one run given, {runs[0]!r}"
        raise click.UsageError(f"{extra}; give two runs, or two revisions: main..HEAD")
    else:
        sides = [*before, *(() if before else runs)], [*after, *(() if after else runs)]
    for name, side in zip(("before", "after"), sides, strict=True):
        if not side:
            raise click.UsageError(f"no run {name} given; write clew diff BEFORE… -- AFTER…")
    return _Given(*sides)


def _check_functions(given: _Given, limits: Limits, for_flows: list[str]) -> None:
    only = [word for word in for_flows if word not in ("--fail-on", "--markdown")]
    if only:
        raise click.UsageError(f"{only[0]} applies to flows; remove --by functions")
    if any("@" in run for run in (*given.before, *given.after)):
        raise click.UsageError("functions are compared between whole runs, not single requests; remove --by functions")
    if limits.structure:
        raise click.UsageError("structure is compared by flows; remove --by functions")
