"""`clew export`: write a run as OTLP or as Chrome trace events, for tools that read those formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from clew.cli.output.options import open_session, print_problems, workspace_option
from clew.records.errors import ClewError

FORMATS = ("otlp", "otlp-proto", "chrome")


@click.command()
@click.argument("run", required=False, default="")
@click.option("--format", "format_", type=click.Choice(FORMATS), required=True, help="Output format; otlp is JSON.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), required=True, metavar="FILE",
    help="Output file; - is standard output.",
)  # fmt: skip
@workspace_option
def export(*, run: str, format_: str, out: Path, workspace: Path | None) -> None:
    """Write a run as OTLP (JSON or protobuf) or as Chrome trace events, which Perfetto's UI opens.

    RUN is a run's id, name or folder, or a trace of another tool; the default is the newest run. Calls become spans or
    slices, edges become links or flows, log lines become events or instants. `clew import` restores scopes, edges and
    log lines from an OTLP file. See docs/formats.md for the data that each format cannot hold.

    \b
    Examples:
      clew export --format chrome -o trace.json
      clew export before --format otlp -o before.json
      clew export jaeger.json --format otlp-proto -o trace.pb
      clew export --format otlp -o - | gzip > trace.json.gz
    """
    from clew.graph.formats.writers.chrome import write_chrome
    from clew.graph.formats.writers.otlp import write_json, write_protobuf

    opened = open_session(workspace).open(run)
    write = {"otlp": write_json, "otlp-proto": write_protobuf, "chrome": write_chrome}[format_]
    try:
        with _to(out) as file:
            write(opened.graph, file)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ClewError(f"{out}: cannot be written ({error.strerror})") from None
    if str(out) != "-":
        size = f", {out.stat().st_size:,} bytes" if out.is_file() else ""
        click.echo(f"{out}: run {opened.info.name} as {format_}{size}")
    print_problems(opened)


@contextmanager
def _to(out: Path) -> Iterator[IO[bytes]]:
    """Open the output: a temporary file that replaces `out` when it is complete, or `out` itself if that is a device, a
    pipe or standard output. Raises `ClewError` when the folder does not exist."""
    if str(out) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if out.exists() and not out.is_file():
        with out.open("wb") as file:
            yield file
        return
    # Write through a symbolic link instead of replacing it.
    whole = out.resolve()
    if not whole.parent.is_dir():
        raise ClewError(f"{out}: the folder {whole.parent} does not exist; create it, or choose another one")
    part = whole.with_name(whole.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        os.replace(part, whole)
    finally:
        part.unlink(missing_ok=True)
