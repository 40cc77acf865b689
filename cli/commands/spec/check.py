"""`clew check`: report the problems of a spec and the functions that its rules match. Source is parsed, never imported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.output.options import json_option, workspace_option
from clew.cli.recording.plan_options import values_of
from clew.records.errors import ClewError
from clew.records.plan.plan import dump
from clew.records.run.directory import the_workspace

if TYPE_CHECKING:
    from clew.esl.index.match import RuleMatch
    from clew.esl.lower.compile import Checked
    from clew.esl.syntax.problem import EslProblem

SHOWN = 3
"""Functions shown per rule."""
MOST_PROBLEMS = 200
"""Maximum problems printed per spec; a file that is not a spec has one per line."""

SHORTEST = "include standard; scope your_package.**; logs;"


class NoSpec(ClewError):
    """No spec was found."""


class PlanNotWritten(ClewError):
    """The plan cannot be written."""


@click.command(short_help="Check a spec against the source code.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@workspace_option
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the spec's plan, for `pytest --clew-plan`.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Value of a parameter of the specs. Repeatable."
)
@json_option
@click.pass_context
def check(  # noqa: PLR0917 - click passes them by name
    context: click.Context,
    files: tuple[Path, ...],
    workspace: Path | None,
    plan_file: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check specs: their syntax, and the functions that their rules match in the workspace's source code (parsed, not
    imported).

    FILES are specs or folders; by default every .esl file of the workspace is checked. The command prints problems as
    file:line:column, then the matching functions of each rule. It exits with 1 on an error; warnings alone exit with 0.

    \b
    Examples:
      clew check                          every spec of the workspace
      clew check app.esl                  one spec
      clew check app.esl --workspace src  matched against the source below src
      clew check app.esl --plan app.plan  and what pytest needs to record by it
      clew check app.esl --set most=50    with another value of a parameter
      clew check --json | jq '.files[].problems[].message'
    """
    from clew.esl import SourceIndex
    from clew.esl import check as check_spec

    base = the_workspace(workspace)
    index = SourceIndex(base)
    try:
        values = values_of(settings)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    results = [check_spec(path, base, index=index, settings=values) for path in specs_of(files, base)]
    if as_json:
        sys.stdout.write(json.dumps(_document(results), indent=2, ensure_ascii=False) + "\n")
    else:
        for number, result in enumerate(results):
            sys.stdout.write(("\n" if number else "") + _report(result))
    if any(problem.severity == "error" for result in results for problem in result.problems):
        context.exit(1)
    if plan_file is not None:
        _write_plan(results, plan_file)


def _write_plan(results: list[Checked], file: Path) -> None:
    """Write the plan of the single spec. Raises `click.UsageError` unless exactly one spec was checked,
    `PlanNotWritten` when the file cannot be written."""
    plans = [result.plan for result in results if result.plan is not None]
    if len(plans) != 1:
        raise click.UsageError("--plan: a plan is made from exactly one spec; name one")
    try:
        file.write_text(dump(plans[0]), encoding="utf-8")
    except OSError as error:
        raise PlanNotWritten(f"{file}: the plan cannot be written ({error.strerror})") from None


def specs_of(files: tuple[Path, ...], base: Path) -> list[Path]:
    """Return the specs to check, with paths as the user would write them. Raises `NoSpec`."""
    from clew.esl.index.files import project_files

    found: list[Path] = []
    for given in files or (base,):
        if not given.is_dir():
            found.append(given)
            continue
        inside, left_out = project_files(given.resolve(), ".esl")
        if left_out:
            click.echo(f"clew: {left_out}", err=True)
        if not inside:
            raise NoSpec(f"{given}: no spec found (a file that ends in .esl); a minimal spec is\n    {SHORTEST}")
        found += [_shortest(path) for path in inside]
    return list(dict.fromkeys(found))


def _shortest(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _report(result: Checked) -> str:
    from clew.esl.syntax.problem import render

    out = [render(problem, result.path, result.text) for problem in result.problems[:MOST_PROBLEMS]]
    if len(result.problems) > MOST_PROBLEMS:
        out.append(f"… and {_count(len(result.problems) - MOST_PROBLEMS, 'more problem')}; use --json to see all")
    out += [f"note: {note}" for note in result.notes]
    if not result.problems and not result.tree.parts:
        out.append(f"note: this spec is empty; a minimal spec is\n    {SHORTEST}")
    rows = [_row(each) for each in result.matches]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    for row, each in zip(rows, result.matches, strict=True):
        out.append(f"{row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip())
        out += _doubts(each, " " * (widths[0] + 2))
    functions = {(f.file, f.qualname, f.line) for each in result.matches for f in each.functions}
    rules = _count(len(result.matches), "rule")
    out.append(f"{result.path}: {_problems(result.problems)}; {rules}, {_count(len(functions), 'function')} recorded")
    return "\n".join(out) + "\n"


def _row(each: RuleMatch) -> tuple[str, str, str]:
    labels = [function.label for function in each.functions]
    more = f", … {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    exact = labels == [each.rule.pattern.full_text]
    uncertain = len(labels) - each.certain
    count = _count(len(labels), "function") + (f", {uncertain:,} of them known only at run time" if uncertain else "")
    named = "" if exact or not labels else ": " + ", ".join(labels[:SHOWN]) + more
    line = each.rule.rule.origin.rpartition(":")[2]
    return line, f"{each.rule.title} {each.rule.pattern.full_text}", count + named


def _doubts(each: RuleMatch, indent: str) -> list[str]:
    """Return a line about the functions that the source does not fully determine."""
    shown = [f"{function.label} ({doubt})" for function, doubt in each.uncertain()]
    more = f", … {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return [f"{indent}known only at run time: {', '.join(shown[:SHOWN])}{more}"] if shown else []


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _problems(problems: tuple[EslProblem, ...]) -> str:
    errors = sum(problem.severity == "error" for problem in problems)
    found = [_count(errors, "error")] if errors else []
    if len(problems) > errors:
        found.append(_count(len(problems) - errors, "warning"))
    return " and ".join(found) or "no problems"


def _document(results: list[Checked]) -> dict[str, Any]:
    return {
        "files": [
            {
                "path": result.path,
                "problems": [
                    {
                        "severity": problem.severity,
                        "message": problem.message,
                        "line": problem.span.line,
                        "column": problem.span.column,
                        "endLine": problem.span.end_line,
                        "endColumn": problem.span.end_column,
                        "fix": problem.fix,
                    }
                    for problem in result.problems
                ],
                "rules": [
                    {
                        "line": int(each.rule.rule.origin.rpartition(":")[2]),
                        "statement": each.rule.title,
                        "pattern": each.rule.pattern.full_text,
                        "functions": [
                            {"name": function.label, "file": function.file, "line": function.line, "atRunTime": doubt}
                            for function, doubt in zip(each.functions, each.doubts, strict=True)
                        ],
                    }
                    for each in result.matches
                ],
                "notes": list(result.notes),
            }
            for result in results
        ]
    }
