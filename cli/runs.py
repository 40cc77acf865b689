"""`clew runs`: the recorded runs of a workspace, newest first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from clew.cli.common import json_option, print_json, show, table, the_workspace, workspace_option
from clew.records.run import RunInfo, disk_bytes, list_runs, trace_files
from clew.server import wording
from clew.server.codec import encode
from clew.server.session import run_ref


@click.command()
@workspace_option
@json_option
def runs(workspace: Path | None, as_json: bool) -> None:
    """List the recorded runs, newest first.

    \b
    Examples:
      clew runs
      clew runs --json | jq -r '.runs[0].id'
    """
    folder = the_workspace(workspace)
    rows = [_row(run, info) for run, info in list_runs(folder)]
    if as_json:
        print_json({"workspace": str(folder), "runs": rows})
        return
    if not rows:
        click.echo(f"no run in {folder / '.clew'} yet; record one with `clew run -- python your_program.py`", err=True)
        return
    shown = table("id", "name", "when", "exit", "processes", "size", "problems", right=("exit", "processes", "size"))
    for row in rows:
        shown.add_row(
            row["id"],
            row["name"],
            wording.when(row["started"] * 1_000_000) if row["started"] else "",
            "…"
            if not row["finished"]
            else ""
            if row["imported"]
            else "?"
            if row["exitCode"] is None
            else str(row["exitCode"]),
            "" if row["imported"] else str(row["processes"]),
            wording.size(row["bytes"]),
            "; ".join(row["problems"]),
        )
    show(shown)


def _row(folder: Path, info: RunInfo | Exception) -> dict[str, Any]:
    return {
        **encode(run_ref(folder, info)),
        "folder": str(folder),
        "imported": isinstance(info, RunInfo) and info.imported > 0,
        "processes": len(trace_files(folder)),
        "bytes": disk_bytes(folder),
    }
