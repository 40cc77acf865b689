"""`clew import`: a run made of traces that others wrote, and what was odd about them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from clew.cli.common import json_option, print_json, workspace_option
from clew.records.run import the_workspace

FORMATS = ("auto", "otlp", "jaeger", "zipkin", "chrome", "vector-clock")
"""As `clew.graph.formats.recognise` has them, which is loaded only when it is needed."""


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option(
    "-o", "--out", default="", metavar="RUN", help="The run's name, or a folder for it. Default: as the file."
)
@click.option("--format", "format_", type=click.Choice(FORMATS), default="auto", show_default=True)
@click.option("--pattern", default="", metavar="REGEX", help="How a log with vector clocks writes an event; see above.")
@workspace_option
@json_option
def import_(
    *, files: tuple[Path, ...], out: str, format_: str, pattern: str, workspace: Path | None, as_json: bool
) -> None:
    """Make a run of traces that others wrote.

    Reads OTLP (JSON, JSON lines, protobuf; traces and logs), Jaeger's and Zipkin's JSON, Chrome's and Perfetto's JSON trace
    events (VizTracer's, too), and logs with vector clocks; each also compressed with gzip or zstd. Several files become one
    run: a trace's spans and its logs, say. The format is recognised by the content. What is odd in a file is counted
    and listed, and what does not fit in is left out.

    A pattern is a regular expression with the groups host, clock (a JSON object) and event, as in ShiViz; others may be
    timestamp, level, enter and exit (a function's name). Every command that takes a run takes such a file as well.

    \b
    Examples:
      clew import trace.json
      clew import traces.jsonl.gz logs.jsonl.gz -o checkout
      clew import node.log --pattern '(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)'
      clew why 'connection refused' --run jaeger-trace.json
    """
    from clew.cli.importing import ImportBar
    from clew.graph.imports import import_run
    from clew.server import wording

    if pattern and format_ not in ("auto", "vector-clock"):
        raise click.UsageError("--pattern is for logs with vector clocks; leave out --format")
    bar = ImportBar(quiet=as_json)
    try:
        made = import_run(the_workspace(workspace), files, out=out, format_=format_, pattern=pattern, progress=bar)
    finally:
        bar.close()
    graph = made.read.graph
    figures = {
        "spans": made.read.spans,
        "logs": made.read.logs,
        "events": len(graph),
        "edges": len(graph.edge_src),
        "processes": len(graph.processes),
        "strands": len(graph.strands),
    }
    if as_json:
        files_of = [vars(origin) for origin in made.read.origins]
        print_json(
            {
                "run": made.info.id,
                "name": made.info.name,
                "folder": str(made.folder),
                "files": files_of,
                **figures,
                "problems": [problem._asdict() for problem in made.read.problems],
            }
        )
        return
    formats = " and ".join(dict.fromkeys(origin.format for origin in made.read.origins))
    told = ", ".join(
        wording.count(number, name[: -2 if name.endswith("sses") else -1]) for name, number in figures.items()
    )
    click.echo(f"run {made.info.name}: {told} ({formats})")
    click.echo(f"{made.folder}")
    for problem in made.read.problems:
        click.echo(f"  {problem.what}")
    name = shlex.quote(out if os.sep in out else made.info.name)
    click.echo(f"`clew path --run {name}`, `clew why --run {name}` and `clew view --run {name}` show it")
