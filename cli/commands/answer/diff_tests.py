"""`clew diff REF..REF`: compare the tests of two revisions, as recorded by `pytest --clew`.

Invariant: the report always shows which sessions a name resolved to, also when they are not an exact match.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from clew.cli.output.options import print_json, print_notes
from clew.records.run.failure_conditions import Limits
from clew.records.run.git_revision import RevisionError, resolve
from clew.records.run.test_sessions import SHORT, Chosen, find_sessions

REFS = ".."
MOST = 10
"""Maximum number of sessions compared per revision, newest first."""
THRESHOLDS = {"alpha": "alpha", "slower": "change"}
"""Options that are also thresholds for tests, mapped to their names there."""
FAILED = 3
"""Exit code of a comparison that violates --fail-on."""


def diff_sessions(
    names: str, workspace: Path, limits: Limits, *, as_json: bool, as_markdown: bool, thresholds: Mapping[str, float]
) -> int:
    """Compare `BEFORE..AFTER`, each a revision or a session's id, by default the newest session. Print the answer and
    return the exit code."""
    import clew
    from clew.compare.sessions.diff import compare_suites
    from clew.compare.sessions.report import by_test, failed, markdown, report
    from clew.compare.sessions.result import Thresholds

    before_name, _, after_name = names.partition(REFS)
    after = find_sessions(workspace, after_name)
    of_commit = len(after_name) > 0 and after_name != after.runs[0][1].id
    if of_commit and _is_commit(workspace, before_name or "HEAD", after.commit):
        raise RevisionError(
            f"{before_name or 'HEAD'} and {after_name} are the same commit, {after.commit[:SHORT]}; omit the second one for "
            f"the newest session, changed or not: `clew diff {before_name}{REFS}`"
        )
    before = find_sessions(workspace, before_name or "HEAD", without=[info.id for _, info in after.runs])
    sides = [[clew.open(folder) for folder, _ in chosen.runs[:MOST]] for chosen in (before, after)]
    suites = compare_suites(sides[0], sides[1], Thresholds(**thresholds))
    title, root, why = _title(before), str(workspace), failed(suites, limits)
    if as_json:
        answer: dict[str, Any] = {"baseline": title, "failed": why, **suites.to_json()}
        print_json(
            answer
            | {
                "report": report(suites, title, root),
                "markdown": markdown(suites, title, root),
                "tests": by_test(suites),
            }
        )
    elif as_markdown:
        click.echo(markdown(suites, title, root), nl=False)
    else:
        for line in report(suites, title, root):
            click.echo(line)
        print_notes(
            [f"run {run.info.id}: {problem.what}" for side in sides for run in side for problem in run.problems]
        )
    if why and not as_json:
        click.echo(f"clew: {why}", err=True)
    return FAILED if why else 0


def _is_commit(workspace: Path, name: str, commit: str) -> bool:
    try:
        return resolve(workspace, name) == commit
    except RevisionError:  # the id of a session
        return False


def _title(chosen: Chosen) -> str:
    many = min(len(chosen.runs), MOST)
    return f"{chosen.title}, {many} session{'s' * (many > 1)}"
