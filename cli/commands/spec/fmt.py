"""`clew fmt`: format specs, or list the specs that are not formatted."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from clew.cli.commands.spec.check import specs_of
from clew.cli.output.options import workspace_option
from clew.records.errors import ClewError
from clew.records.run.directory import the_workspace


class NotFormatted(ClewError):
    """A file cannot be read or written."""


@click.command("fmt", short_help="Format specs.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@workspace_option
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if a file would be changed.")
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; print what would be changed.")
@click.pass_context
def fmt(
    context: click.Context, files: tuple[Path, ...], workspace: Path | None, only_check: bool, show_diff: bool
) -> None:
    """Format specs: one statement a line, single blanks between words, indented entity members. Comments and the
    meaning of the spec stay unchanged; so do statements with syntax errors.

    FILES are specs or folders, - is standard input; by default every .esl file of the workspace is formatted.

    \b
    Examples:
      clew fmt                    every spec of the workspace
      clew fmt app.esl            one spec
      clew fmt --check            for a build: exit with 1 when a file is not formatted
      clew fmt --diff app.esl     what would be changed
      clew fmt - < app.esl        from standard input to standard output
    """
    from clew.esl.syntax.formatter import format_text

    if files == (Path("-"),):
        sys.stdout.write(format_text(sys.stdin.read()))
        return
    changed = 0
    paths = specs_of(files, the_workspace(workspace))
    for path in paths:
        before = _read(path)
        after = format_text(before)
        if after == before:
            continue
        changed += 1
        if show_diff:
            old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
            sys.stdout.writelines(difflib.unified_diff(old, new, str(path), f"{path} (formatted)"))
        elif only_check:
            click.echo(f"{path}: would be formatted")
        else:
            _write(path, after)
            click.echo(f"{path}: formatted")
    if not show_diff:
        same = len(paths) - changed
        click.echo(f"{changed} of {len(paths)} changed" if changed else f"{same} of {len(paths)} already formatted")
    if changed and only_check:
        context.exit(1)


def _read(path: Path) -> str:
    from clew.esl.lower.compile import read

    text, problem = read(path)
    if problem:
        raise NotFormatted(f"{path}: {problem}")
    return text


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise NotFormatted(f"{path}: cannot be written ({error.strerror})") from None
