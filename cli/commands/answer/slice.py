"""`clew slice`: list all causes or all effects of some events as a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.output.options import (
    json_option,
    open_session,
    print_json,
    print_live_note,
    print_notes,
    print_problems,
    run_option,
    show,
    table,
    workspace_option,
)

if TYPE_CHECKING:
    from clew.server.protocol.shared import MissingEvents

OPERATORS = {
    "=~": "matches", "!=": "ne", "<=": "le", ">=": "ge", "=": "eq", "~": "contains", "<": "lt", ">": "gt",
}  # fmt: skip
CONDITION = re.compile(rf"\s*(\w+)\s*({'|'.join(map(re.escape, OPERATORS))})(.*)", re.S)
NUMBERS = ("id", "ts", "line")


@click.command("slice")
@click.argument("text", required=False)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="COND",
    help="Condition on the start events. Repeatable; all must hold.",
)
@click.option("--direction", type=click.Choice(["backward", "forward"]), default="backward", show_default=True)
@click.option(
    "--only",
    "filters",
    multiple=True,
    metavar="COND",
    help="Condition on the listed events. Repeatable; all must hold.",
)
@click.option("--select", "fields", default="ts,process,strand,kind,function,text", show_default=True)
@click.option("--max-hops", type=click.IntRange(0), help="Maximum edges to follow.")
@click.option("--max-network-hops", type=click.IntRange(0), help="Maximum edges between processes to follow.")
@click.option(
    "--limit", type=click.IntRange(1), default=200, show_default=True, help="Maximum rows to print; JSON has all."
)
@run_option
@workspace_option
@json_option
def slice_(
    *,
    text: str | None,
    conditions: tuple[str, ...],
    direction: Any,
    filters: tuple[str, ...],
    fields: str,
    max_hops: int | None,
    max_network_hops: int | None,
    limit: int,
    run: str | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """List all causes of some events, or all their effects, in order of time.

    The start events are the log lines whose message contains TEXT, or the events that fulfil all conditions. Rows mark
    missing events next to the slice, because they may belong to it. For several machines, the clock corrections follow.

    A condition is FIELD OPERATOR VALUE. Fields: id ts kind level text channel key function module component file line process
    strand thread. Operators: = != < <= > >=, ~ (contains), =~ (regular expression). `ts` is in nanoseconds since the start.

    \b
    Examples:
      clew slice 'Write request failed' --only kind=log --select process,text
      clew slice --where level=ERROR --direction forward
      clew slice --where 'function=app:work' --where 'ts>1000000' --select function,file,line --json
    """
    from clew.server.text import units
    from clew.server.text.gaps import machines, missing
    from clew.server.views.slice.view import numbers
    from clew.server.views.target import NothingFound, but, no_such_text
    from clew.server.views.why import summary

    if text is None and not conditions:
        raise click.UsageError("no start event given; pass a part of a log message, or --where level=ERROR")
    start_filters = _conditions(conditions)
    if text is not None:
        if {"kind__eq", "text__contains"} & start_filters.keys():
            raise click.UsageError("TEXT and --where cannot be combined; use --where kind=… and text~… instead of TEXT")
        start_filters |= {"kind__eq": "log", "text__contains": text}
    session = open_session(workspace)
    opened = session.open(run or "")
    start = opened.events.where(**start_filters)
    if not start.count():
        if text is not None and not conditions:
            raise NothingFound(no_such_text(opened, text))
        conditions = (*conditions, *([f"text~{text}"] if text is not None else []))
        raise NothingFound(f"no event of run {opened.info.name} matches {' and '.join(conditions)}{but(opened)}")
    cut = start.slice(direction, max_hops=max_hops, max_network_hops=max_network_hops)
    names = [name.strip() for name in fields.split(",") if name.strip()]
    chosen = cut.where(**_conditions(filters)) if filters else cut
    listed = chosen.select(*names)
    statistics = numbers(cut.result, 0)
    gone = missing(opened.graph, cut.gaps())
    print_live_note(opened)
    if as_json:
        events = [dict(zip(names, row, strict=True)) for row in listed]
        answer = {
            "run": session.ref(opened),
            "direction": direction,
            "numbers": statistics,
            "events": events,
            "gaps": gone.shown,
            "hiddenGaps": gone.hidden,
            "machines": machines(opened.graph),
        }
        print_json(answer)
        return
    rows = table(*names, right=tuple(name for name in names if name in NUMBERS))
    shown = min(limit, listed.count())
    times = opened.graph.ts[chosen.ids()[:shown]].tolist()
    ahead = list(gone.shown)
    for at, row in zip(times, listed, strict=False):
        # A gap is shown next to the first event after its beginning.
        while ahead and ahead[0].fromNs < at:
            rows.add_row(*_gap_cells(names, ahead.pop(0)))
        rows.add_row(*(_cell(name, value) for name, value in zip(names, row, strict=True)))
    for gap in ahead:
        rows.add_row(*_gap_cells(names, gap))
    show(rows)
    if listed.count() > shown:
        click.echo(f"and {listed.count() - shown:,} more; use --limit to show more")
    click.echo(f"{units.count(start.count(), 'start')} · {summary(statistics, direction)}")
    if gone.hidden:
        print_notes([f"{units.count(gone.hidden, 'shorter gap')} next to the slice not shown"])
    print_notes([f"clock of {machine.name}: {machine.clock}" for machine in machines(opened.graph)[1:]])
    print_problems(opened)


def _conditions(given: tuple[str, ...]) -> dict[str, Any]:
    """Return keyword arguments for `EventQuery.where`. Raises `click.UsageError`."""
    found: dict[str, Any] = {}
    for text in given:
        match = CONDITION.fullmatch(text)
        if match is None:
            raise click.UsageError(f"{text!r} is not a condition; write FIELD=VALUE, FIELD~PART, FIELD>NUMBER, …")
        field, comparison, value = match[1], OPERATORS[match[2]], match[3].strip()
        if comparison == "matches":
            try:
                re.compile(value)
            except re.error as error:
                raise click.UsageError(f"{text!r}: not a regular expression ({error})") from None
        name = f"{field}__{comparison}"
        if name in found:
            raise click.UsageError(f"{field} {match[2]} given twice; use =~ with an alternative (a|b) instead")
        found[name] = _value(field, value, text)
    return found


def _value(field: str, value: str, text: str) -> str | int:
    if field not in NUMBERS:
        return value
    try:
        return int(value)
    except ValueError:
        raise click.UsageError(f"{text!r}: {field} must be a whole number") from None


def _gap_cells(names: list[str], gap: MissingEvents) -> list[str]:
    """Return a row for a gap between events, in the column of texts or else the last one."""
    from clew.server.text import units

    known = {"ts": units.offset(gap.fromNs), "process": gap.process, "strand": gap.strand, "kind": "missing"}
    text_column = "text" if "text" in names else names[-1]
    return [f"here {gap.text}" if name == text_column else known.get(name, "") for name in names]


def _cell(name: str, value: Any) -> str:
    from clew.server.text import units

    return units.offset(value) if name == "ts" else units.printable(str(value)).replace("\n", "⏎")
