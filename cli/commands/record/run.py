"""`clew run`: record a program without changing its output, signals and exit code."""

from __future__ import annotations

from pathlib import Path

import click

from clew.cli.output.options import workspace_option
from clew.cli.recording.fast_arguments import Options
from clew.cli.recording.record import record
from clew.records.run.directory import the_workspace


@click.command(context_settings={"allow_interspersed_args": False}, short_help="Record a program.")
@click.option(
    "--spec", type=click.Path(path_type=Path), help="Spec of the recording, a file in ESL. Default: see above."
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Value of a parameter of the spec. Repeatable."
)
@click.option("--name", help="Name of the run, for `clew diff before after`. Default: the program's name.")
@workspace_option
@click.option(
    "--budget", help="Maximum share of run time that recording costs: 3%, or `none`. Default: the spec's, else 3%."
)
@click.option("--quota", help="Maximum bytes on disk per process: 512MB, 2GB. Default: the spec's, else 2GB.")
@click.option(
    "--keep",
    type=click.Choice(["oldest", "newest"]),
    help="At the quota, keep the oldest events (recording stops) or the newest. Default: the spec's, else oldest.",
)
@click.option(
    "--sample",
    help="Share of request flows to record, each entirely or not at all: 10%. Default: the spec's, else all.",
)
@click.option("--no-output", is_flag=True, help="Do not record the lines that the program writes to stdout and stderr.")
@click.option(
    "--writes",
    is_flag=True,
    help="Also record what functions write to attributes, containers, variables, rows of SQLite and keys of redis.",
)
@click.option("--off", is_flag=True, help="Record nothing yet; only prepare the program for `clew attach`.")
@click.option("--quiet", "-q", is_flag=True, help="Print only errors.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on stderr at the end; stdout is the program's."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(  # noqa: PLR0917 - click passes them by name
    context: click.Context,
    spec: Path | None,
    settings: tuple[str, ...],
    name: str | None,
    workspace: Path | None,
    budget: str | None,
    quota: str | None,
    keep: str | None,
    sample: str | None,
    no_output: bool,
    writes: bool,
    off: bool,
    quiet: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Record COMMAND, a Python program, and every Python process that it starts.

    The program's output, signals and exit code are unchanged. Without a spec, clew records the functions of the project
    itself (not those of installed packages), the causality of the standard library, and log lines.

    \b
    Examples:
      clew run -- python app.py --port 80
      clew run --spec app.esl --name before -- python -m app
      clew run --budget none -- pytest tests/test_app.py
      clew run --writes -- python app.py
      clew run --quota 200MB --keep newest -- python server.py
      clew run --json -- python app.py 2>run.json
      clew run --spec app.esl --sample 10% -- python server.py
      clew run --spec app.esl --set package=shop --set most=50 -- python server.py
      clew run --off -- python server.py
    """
    options = Options(
        command,
        the_workspace(workspace),
        spec,
        name,
        budget,
        quota,
        keep,
        sample,
        off,
        quiet,
        as_json,
        settings,
        no_output,
        writes,
    )
    context.exit(record(options))
