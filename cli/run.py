"""`clew run`: records a program and gets out of its way: its output, signals and exit code are as without clew."""

from __future__ import annotations

from pathlib import Path

import click

from clew.cli.common import workspace_option
from clew.cli.recording import record
from clew.cli.run_words import Options
from clew.records.run import the_workspace


@click.command(context_settings={"allow_interspersed_args": False}, short_help="Record a program.")
@click.option("--spec", type=click.Path(path_type=Path), help="What to record, a file in ESL. Default: see above.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="What a parameter of the spec is; may be repeated."
)
@click.option("--name", help="The run's name, for `clew diff before after`. Default: the program's.")
@workspace_option
@click.option(
    "--budget", help="Share of run time that recording may cost: 3%, or `none`. Default: the spec's; 3% without a spec."
)
@click.option("--quota", help="Bytes that a process may keep on disk: 512MB, 2GB. Default: the spec's, else 2GB.")
@click.option(
    "--keep",
    type=click.Choice(["oldest", "newest"]),
    help="What stays at the quota: the oldest, and recording stops, or the newest. Default: the spec's, else oldest.",
)
@click.option(
    "--sample", help="Share of request flows to record, each whole or not at all: 10%. Default: the spec's, else all."
)
@click.option("--off", is_flag=True, help="Record nothing yet: only make the program ready for `clew attach`.")
@click.option("--quiet", "-q", is_flag=True, help="Say only what went wrong.")
@click.option("--json", "as_json", is_flag=True, help="End with one JSON document on stderr; stdout is the program's.")
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
    off: bool,
    quiet: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Record COMMAND, a Python program, with every Python process that it starts.

    Its output, signals and exit code are as without clew. Without a spec, the functions of the project itself are
    recorded (not those of installed packages), the causality of the standard library, and log lines.

    \b
    Examples:
      clew run -- python app.py --port 80
      clew run --spec app.esl --name before -- python -m app
      clew run --budget none -- pytest tests/test_app.py
      clew run --quota 200MB --keep newest -- python server.py
      clew run --json -- python app.py 2>run.json
      clew run --spec app.esl --sample 10% -- python server.py
      clew run --spec app.esl --set package=shop --set most=50 -- python server.py
      clew run --off -- python server.py
    """
    options = Options(
        command, the_workspace(workspace), spec, name, budget, quota, keep, sample, off, quiet, as_json, settings
    )
    context.exit(record(options))
