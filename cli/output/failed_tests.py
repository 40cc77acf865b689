"""Print the failed tests of a run with their suspects, and complete their ids for the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from clew.cli.output.options import print_json, print_problems

if TYPE_CHECKING:
    from clew.server.session.session import Session


def failed_nodes(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the ids of the failed tests of the newest session, for the shell."""
    from clew.records.run import test_outcomes
    from clew.records.run.directory import RunInfo, list_runs, the_workspace

    for folder, info in list_runs(the_workspace(None)):
        if isinstance(info, RunInfo) and info.tests:
            tests = test_outcomes.load(folder) or {}
            return [
                CompletionItem(node, help=outcome)
                for node, outcome in tests.items()
                if outcome.startswith("failed")
                and (node.startswith(typed) or node.rpartition("::")[2].startswith(typed))
            ]
    return []


def print_failed(session: Session, which: str, *, as_json: bool, as_markdown: bool) -> None:
    """Print the suspects of every failed test of a run."""
    from clew.cli.output.answers import print_failed_test
    from clew.server.session.session import Task
    from clew.server.text import units
    from clew.server.text.failed_test import command, markdown_of, report_lines
    from clew.server.views.failed_test import all_failed

    run = session.open(which, Task())
    found = all_failed(session, run, Task())
    if as_json:
        reports = {failed.test: report_lines(failed) for failed in found.tests}
        print_json({"run": session.ref(run), "tests": found.tests, "reports": reports, "omitted": found.omitted})
        return
    if as_markdown:
        click.echo("\n---\n\n".join(markdown_of(failed) for failed in found.tests) or "No test failed.\n", nl=False)
        return
    total = len(found.tests) + len(found.omitted)
    click.echo(f"run {run.info.name} ({units.when(run.info.started)}): {units.count(total, 'failed test')}")
    for failed in found.tests:
        click.echo()
        print_failed_test(failed)
    if found.omitted:
        click.echo(f"\n{units.count(len(found.omitted), 'more failed test')}:")
        for node in found.omitted:
            click.echo(f"  {command(node)}")
    print_problems(run)
