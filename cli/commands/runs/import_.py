"""`clew import`: make a run from traces of other tools, and report their irregularities."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from clew.cli.output.options import json_option, print_json, workspace_option
from clew.graph.formats.registry import AUTO, READERS, format_named
from clew.records.run.directory import the_workspace


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option(
    "-o", "--out", default="", metavar="RUN", help="Name of the run, or a folder for it. Default: the file's name."
)
@click.option("--format", "format_", type=click.Choice([AUTO, *READERS]), default=AUTO, show_default=True)
@click.option(
    "--pattern", default="", metavar="REGEX", help="Format of an event in a log with vector clocks; see above."
)
@workspace_option
@json_option
def import_(
    *, files: tuple[Path, ...], out: str, format_: str, pattern: str, workspace: Path | None, as_json: bool
) -> None:
    """Make a run from traces of other tools.

    The command reads OTLP (JSON, JSON lines, protobuf; traces and logs), the JSON of Jaeger and Zipkin, the JSON trace
    events of Chrome, Perfetto and VizTracer, and logs with vector clocks. Each file may be compressed with gzip or
    zstd. Several files become one run, for example the spans and the logs of a trace. The format is detected from the
    content. Irregularities of a file are counted and listed; data that fits no run is omitted.

    A pattern is a regular expression with the groups host, clock (a JSON object) and event, as in ShiViz. Optional
    groups are timestamp, level, enter and exit (a function's name). Every command that takes a run also takes such a
    file.

    \b
    Examples:
      clew import trace.json
      clew import traces.jsonl.gz logs.jsonl.gz -o checkout
      clew import node.log --pattern '(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)'
      clew why 'connection refused' --run jaeger-trace.json
    """
    from clew.cli.output.progress import ImportBar
    from clew.graph.formats.import_run import import_run
    from clew.server.text import units

    if pattern and format_ != AUTO and not format_named(format_).takes_pattern:
        raise click.UsageError("--pattern applies to logs with vector clocks; remove --format")
    bar = ImportBar(quiet=as_json)
    try:
        made = import_run(the_workspace(workspace), files, out=out, format_=format_, pattern=pattern, progress=bar)
    finally:
        bar.close()
    graph = made.read.graph
    counts = {
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
                **counts,
                "problems": [problem._asdict() for problem in made.read.problems],
            }
        )
        return
    formats = " and ".join(dict.fromkeys(origin.format for origin in made.read.origins))
    summary = ", ".join(
        units.count(number, name[: -2 if name.endswith("sses") else -1]) for name, number in counts.items()
    )
    click.echo(f"run {made.info.name}: {summary} ({formats})")
    click.echo(f"{made.folder}")
    for problem in made.read.problems:
        click.echo(f"  {problem.what}")
    name = shlex.quote(out if os.sep in out else made.info.name)
    click.echo(f"next: `clew path --run {name}`, `clew why --run {name}` or `clew view --run {name}`")
