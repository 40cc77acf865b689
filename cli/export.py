"""`clew export`: a run as OTLP or as Chrome's trace events, for the tools that read those."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from clew.cli.common import open_session, print_problems, workspace_option
from clew.records.errors import ClewError

FORMATS = ("otlp", "otlp-proto", "chrome")


@click.command()
@click.argument("run", required=False, default="")
@click.option("--format", "format_", type=click.Choice(FORMATS), required=True, help="otlp is JSON.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), required=True, metavar="FILE",
    help="Where to; - is standard output.",
)  # fmt: skip
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
      clew export --format otlp -o - | gzip > trace.json.gz
    """
    from clew.graph.formats.export_chrome import write_chrome
    from clew.graph.formats.export_otlp import write_json, write_protobuf

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
    """What is to be written to: a file beside, which takes the place of `out` when it is whole; but a device, a pipe or
    standard output itself. Raises `ClewError` when there is no folder for it."""
    if str(out) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if out.exists() and not out.is_file():
        with out.open("wb") as file:
            yield file
        return
    # A link stays one.
    whole = out.resolve()
    if not whole.parent.is_dir():
        raise ClewError(f"{out}: there is no folder {whole.parent}; make it, or name another one")
    part = whole.with_name(whole.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        os.replace(part, whole)
    finally:
        part.unlink(missing_ok=True)
