"""`clew export`: a run as OTLP or as Chrome's trace events, for the tools that read those."""

from __future__ import annotations

import os
from pathlib import Path

import click

from clew.cli.common import open_session, print_problems, workspace_option

FORMATS = ("otlp", "otlp-proto", "chrome")


@click.command()
@click.argument("run", required=False, default="")
@click.option("--format", "format_", type=click.Choice(FORMATS), required=True, help="otlp is JSON.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="FILE")
@workspace_option
def export(*, run: str, format_: str, out: Path, workspace: Path | None) -> None:
    """Write a run as OTLP (JSON or protobuf) or as Chrome's trace events, which Perfetto's UI opens.

    RUN is a run's id, name or folder, or a trace that others wrote; the newest run when it is left out. Calls become spans
    or slices, edges links or flows, log lines events or instants. `clew import` gets scopes, edges and lines of an OTLP
    file back; docs/formats.md says what a format has no room for.

    \b
    Examples:
      clew export --format chrome -o trace.json
      clew export before --format otlp -o before.json
      clew export jaeger.json --format otlp-proto -o trace.pb
    """
    from clew.graph.formats.export_chrome import write_chrome
    from clew.graph.formats.export_otlp import write_json, write_protobuf

    opened = open_session(workspace).open(run)
    write = {"otlp": write_json, "otlp-proto": write_protobuf, "chrome": write_chrome}[format_]
    part = out.with_name(out.name + ".part")
    try:
        with part.open("wb") as file:
            write(opened.graph, file)
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)
    click.echo(f"{out}: run {opened.info.name} as {format_}, {out.stat().st_size:,} bytes")
    print_problems(opened)
