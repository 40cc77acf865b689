"""`clew detach`: ends the recording of a program that goes on."""

from __future__ import annotations

import click

from clew.cli.attach import beginning, detach_from
from clew.cli.common import json_option


@click.command(short_help="End the recording of a running program.")
@json_option
@click.argument("pids", nargs=-1, type=click.IntRange(min=1), required=True, metavar="PID...", shell_complete=beginning)
def detach(as_json: bool, pids: tuple[int, ...]) -> None:
    """End the recording of the running processes PID, which go on as if it had never been.

    What was recorded can be read at once; `clew attach PID` records anew, into another run.

    \b
    Examples:
      clew detach 4711
      clew detach 4711 --json
    """
    detach_from(pids, as_json=as_json)
