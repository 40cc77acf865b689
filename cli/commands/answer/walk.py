"""`clew walk`: move from event to event by keys, or by given steps."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.output.options import json_option, open_session, print_json, run_option, target_of, workspace_option
from clew.records.fast_namedtuple import NamedTuple

if TYPE_CHECKING:
    from clew.server.protocol.views.walk import WalkCard, WalkResult
    from clew.server.session.walk import Walker

PICKS = ("last", "first", "slowest", "failed")
MARKS = {"cause": "←", "effect": "→", "previous": "↑", "next": "↓", "out": "o", "in": "i"}
_ARROWS = {"\x1b[D": "cause", "\x1b[C": "effect", "\x1b[A": "previous", "\x1b[B": "next"}
KEYS = {
    **_ARROWS,
    # Arrow keys in the terminal's application mode.
    **{f"\x1bO{key[-1]}": step for key, step in _ARROWS.items()},
    "h": "cause", "l": "effect", "k": "previous", "j": "next", "o": "out", "i": "in", "b": "back", "f": "forward",
}  # fmt: skip
HELP = "← cause  → effect  ↑ previous  ↓ next  o out  i in  b back  f forward  1-9 select another end  q quit"
LEAVE = ("q", "\x1b", "\x04", "\x03")


class Step(NamedTuple):
    name: str
    choice: int
    """Zero-based index."""


class StepsType(click.ParamType):  # type: ignore[type-arg]  # generic only in newer versions
    """Parse `cause,cause:2,out`."""

    name = "steps"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Step, ...]:
        from clew.server.session.walk import STEPS

        if isinstance(value, tuple):
            return value
        found = []
        for word in str(value).split(","):
            name, colon, number = word.strip().partition(":")
            if name not in STEPS or (colon and (not number.isdecimal() or number == "0")):
                self.fail(
                    f"{word.strip()!r} is not a step; expected {', '.join(STEPS)}, or cause:2 for the second cause"
                )
            found.append(Step(name, int(number) - 1 if colon else 0))
        return tuple(found)


@click.command()
@click.argument("text", required=False)
@click.option("--at", metavar="FILE:LINE", help="A line of a log file, a logging call, or a function's call.")
@click.option("--event", type=int, help="An event, by its number in the run (see the JSON output).")
@click.option(
    "--pick", type=click.Choice(PICKS), help="Which call of the function to start at (`failed`: one that raised)."
)
@click.option("--steps", type=StepsType(), metavar="STEPS", help="Comma-separated steps to run non-interactively.")
@run_option
@workspace_option
@json_option
def walk(
    *,
    text: str | None,
    at: str | None,
    event: int | None,
    pick: str | None,
    steps: tuple[Step, ...] | None,
    run: str | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Walk through a run from event to event.

    Start at a log line, as `clew why` does, or at a call. Each key makes one step. A step leads to a cause of the event or
    to an effect; to the previous or next event of its thread or task; out to the enclosing call or scope, or into its
    contents. Two keys go back and forward in your history. The command lists the targets in each direction, or the
    reason why a direction has none. Without a terminal, or with --steps, it prints the steps and exits.

    \b
    Steps: cause, effect, previous, next, out, in, back, forward; cause:2 is the second of several causes.

    \b
    Examples:
      clew walk 'Write request failed'
      clew walk --at chunkstore/client.py:42 --pick slowest
      clew walk 'timed out' --steps cause,cause,out
      clew walk --event 1234 --steps effect:2 --json
    """
    from clew.server.protocol.views.walk import WalkParams
    from clew.server.session.session import Task
    from clew.server.session.walk import Walker
    from clew.server.text import units

    walker = Walker(open_session(workspace))
    params = WalkParams(target_of(text, at, event), run or "", pick=pick or "")  # type: ignore[arg-type]  # one of PICKS
    first = walker.start(params, Task())
    if first.card is None:
        from clew.server.views.target import NothingFound

        raise NothingFound(first.message[:1].lower() + first.message[1:])
    results = [first, *(walker.step(step.name, Task(), step.choice) for step in steps or ())]
    if as_json:
        print_json(results)
        return
    click.echo(f"run {first.run.name} ({units.when(int(first.run.started * 1e6))})")
    for number, result in enumerate(results):
        _show(result, ways=number == len(results) - 1)
    if steps is None and sys.stdin.isatty() and sys.stdout.isatty():
        _by_keys(walker)


def _by_keys(walker: Walker) -> None:
    from clew.server.session.session import Task

    click.secho(HELP, dim=True)
    last = ""
    for key in _keys():
        if key in LEAVE:
            return
        if key.isdecimal() and key != "0" and last in MARKS:
            # Choose among the ends of the last step, from its starting event.
            walker.step("back", Task())
            _show(walker.step(last, Task(), int(key) - 1), ways=True)
        elif key in KEYS:
            last = KEYS[key]
            result = walker.step(last, Task())
            last = last if result.moved else ""
            _show(result, ways=result.moved)
        else:
            click.secho(HELP, dim=True)


def _keys() -> Iterator[str]:
    """Yield each key as it is pressed; an arrow is one key."""
    try:
        import termios
        import tty
    except ImportError:  # terminals of other systems
        while True:
            yield click.getchar()
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        # Set the mode once: switching between keys would lose typed input.
        tty.setcbreak(terminal, termios.TCSADRAIN)
        while typed := os.read(terminal, 64).decode("utf-8", "replace"):
            yield from _KEY.findall(typed)
    except KeyboardInterrupt:
        return
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


_KEY = re.compile(r"\x1b[\[O].|.", re.DOTALL)


def _show(result: WalkResult, *, ways: bool) -> None:
    click.echo()
    if result.sentence:
        click.secho(f"{result.step}: {result.sentence}", bold=result.moved, dim=not result.moved)
    for gap in result.gaps:
        click.secho(f"  here {gap.text}", fg="yellow")
    if result.clock:
        click.secho(f"  {result.clock}", dim=True)
    for number, end in enumerate(result.ends):
        if number != result.choice:
            click.secho(f"  {number + 1}: {end.title} ({end.sentence})", dim=True)
    if result.card is None or not result.moved:
        return
    _card(result.card)
    if result.message:
        click.echo(f"  {result.message}")
    for way in result.ways if ways else ():
        sentence = way.ends[0].sentence if way.ends else way.stop
        several = f" ({way.count:,})" if way.count > 1 else ""
        click.secho(f"  {MARKS[way.step]} {way.step}{several}: {sentence}", dim=not way.ends)


def _card(card: WalkCard) -> None:
    from clew.server.text import units

    place = units.place(card.location.path, card.location.line) if card.location else ""
    where = " / ".join(part for part in (card.machine, card.process, card.strand) if part)
    click.secho(f"{units.offset(card.timeNs)}  {card.title}", bold=True)
    click.echo("  " + " · ".join(part for part in (where, place, f"event {card.event}") if part))
    for fact in card.facts:
        click.echo(f"  {fact.name} = {fact.value}")
