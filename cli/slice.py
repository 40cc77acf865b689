"""`clew slice`: all events that led to some events, or followed from them, as a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.common import (
    json_option,
    open_session,
    print_going_on,
    print_json,
    print_notes,
    print_problems,
    run_option,
    show,
    table,
    workspace_option,
)

if TYPE_CHECKING:
    from clew.server.protocol import MissingEvents

OPERATORS = {
    "=~": "matches", "!=": "ne", "<=": "le", ">=": "ge", "=": "eq", "~": "contains", "<": "lt", ">": "gt",
}  # fmt: skip
CONDITION = re.compile(rf"\s*(\w+)\s*({'|'.join(map(re.escape, OPERATORS))})(.*)", re.S)
NUMBERS = ("id", "ts", "line")


@click.command("slice")
@click.argument("text", required=False)
@click.option(
    "--where", "conditions", multiple=True, metavar="COND", help="Which events it starts from; all must hold."
)
@click.option("--direction", type=click.Choice(["backward", "forward"]), default="backward", show_default=True)
@click.option("--only", "filters", multiple=True, metavar="COND", help="Which events of the slice are listed.")
@click.option("--select", "fields", default="ts,process,strand,kind,function,text", show_default=True)
@click.option("--max-hops", type=click.IntRange(0), help="Follow at most so many edges.")
@click.option("--max-network-hops", type=click.IntRange(0), help="Follow at most so many edges between processes.")
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True, help="How many lines; JSON has all.")
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
    """List everything that led to some events, or followed from them, in the order of time.

    They are the log lines that have TEXT in their message, or the events that fulfil all conditions. Where events are missing
    beside the slice, a line says so at its place, as more may belong to it; of several machines the clocks' corrections follow.

    A condition is FIELD OPERATOR VALUE. Fields: id ts kind level text channel key function module component file line process
    strand thread. Operators: = != < <= > >=, ~ (contains), =~ (regular expression). `ts` is in nanoseconds since the start.

    \b
    Examples:
      clew slice 'Write request failed' --only kind=log --select process,text
      clew slice --where level=ERROR --direction forward
      clew slice --where 'function=app:work' --where 'ts>1000000' --select function,file,line --json
    """
    from clew.server import wording
    from clew.server.panel.explain import summary
    from clew.server.panel.missing import machines, missing
    from clew.server.panel.slice import numbers
    from clew.server.panel.target import NothingFound, but, no_such_text

    if text is None and not conditions:
        raise click.UsageError("say which events it starts from: a part of a log message, or --where level=ERROR")
    wanted = _conditions(conditions)
    if text is not None:
        if {"kind__eq", "text__contains"} & wanted.keys():
            raise click.UsageError("TEXT means log lines that contain it; give it or --where kind=… and text~…")
        wanted |= {"kind__eq": "log", "text__contains": text}
    session = open_session(workspace)
    opened = session.open(run or "")
    start = opened.events.where(**wanted)
    if not start.count():
        if text is not None and not conditions:
            raise NothingFound(no_such_text(opened, text))
        conditions = (*conditions, *([f"text~{text}"] if text is not None else []))
        raise NothingFound(f"no event of run {opened.info.name} has {' and '.join(conditions)}{but(opened)}")
    cut = start.slice(direction, max_hops=max_hops, max_network_hops=max_network_hops)
    names = [name.strip() for name in fields.split(",") if name.strip()]
    chosen = cut.where(**_conditions(filters)) if filters else cut
    listed = chosen.select(*names)
    figures = numbers(cut.result, 0)
    gone = missing(opened.graph, cut.gaps())
    print_going_on(opened)
    if as_json:
        events = [dict(zip(names, row, strict=True)) for row in listed]
        answer = {
            "run": session.ref(opened),
            "direction": direction,
            "numbers": figures,
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
        # A gap is told of where the first event after its beginning is.
        while ahead and ahead[0].fromNs < at:
            rows.add_row(*_gap_cells(names, ahead.pop(0)))
        rows.add_row(*(_cell(name, value) for name, value in zip(names, row, strict=True)))
    for gap in ahead:
        rows.add_row(*_gap_cells(names, gap))
    show(rows)
    if listed.count() > shown:
        click.echo(f"and {listed.count() - shown:,} more; --limit shows more")
    click.echo(f"{wording.count(start.count(), 'start')} · {summary(figures, direction)}")
    if gone.hidden:
        print_notes([f"the slice touches {wording.count(gone.hidden, 'more gap')}, which are shorter"])
    print_notes([f"clock of {machine.name}: {machine.clock}" for machine in machines(opened.graph)[1:]])
    print_problems(opened)


def _conditions(given: tuple[str, ...]) -> dict[str, Any]:
    """Keyword arguments of `EventQuery.where`. Raises `click.UsageError`."""
    found: dict[str, Any] = {}
    for text in given:
        match = CONDITION.fullmatch(text)
        if match is None:
            raise click.UsageError(f"{text!r} is no condition; write FIELD=VALUE, FIELD~PART, FIELD>NUMBER, …")
        field, comparison, value = match[1], OPERATORS[match[2]], match[3].strip()
        if comparison == "matches":
            try:
                re.compile(value)
            except re.error as error:
                raise click.UsageError(f"{text!r}: not a regular expression ({error})") from None
        name = f"{field}__{comparison}"
        if name in found:
            raise click.UsageError(f"{field} {match[2]} is given twice; use =~ with an alternative (a|b) instead")
        found[name] = _value(field, value, text)
    return found


def _value(field: str, value: str, text: str) -> str | int:
    if field not in NUMBERS:
        return value
    try:
        return int(value)
    except ValueError:
        raise click.UsageError(f"{text!r}: {field} is a whole number") from None


def _gap_cells(names: list[str], gap: MissingEvents) -> list[str]:
    """A line among the events: what is missing, in the column of texts or else the last one."""
    from clew.server import wording

    known = {"ts": wording.offset(gap.fromNs), "process": gap.process, "strand": gap.strand, "kind": "missing"}
    said = "text" if "text" in names else names[-1]
    return [f"here {gap.text}" if name == said else known.get(name, "") for name in names]


def _cell(name: str, value: Any) -> str:
    from clew.server import wording

    return wording.offset(value) if name == "ts" else wording.printable(str(value)).replace("\n", "⏎")
