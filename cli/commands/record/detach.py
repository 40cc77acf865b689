"""`clew detach`: end the recording of a running program."""

from __future__ import annotations

import click

from clew.cli.commands.record.attach import beginning, detach_from
from clew.cli.output.options import json_option


@click.command(short_help="End the recording of a running program.")
@json_option
@click.argument("pids", nargs=-1, type=click.IntRange(min=1), required=True, metavar="PID...", shell_complete=beginning)
def detach(as_json: bool, pids: tuple[int, ...]) -> None:
    """End the recording of the running processes PID. The processes continue without any probes.

    The recording is readable immediately. `clew attach PID` starts a new recording in another run.

    \b
    Examples:
      clew detach 4711
      clew detach 4711 --json
    """
    detach_from(pids, as_json=as_json)
