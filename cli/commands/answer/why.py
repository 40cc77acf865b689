"""`clew why`: answer why a log line (or another event) happened: the verdict, how sure it is, and a few steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.output.absence import absence_options, why_not
from clew.cli.output.failed_tests import failed_nodes, print_failed
from clew.cli.output.options import (
    json_option,
    open_session,
    print_json,
    print_live_note,
    print_problems,
    run_option,
    target_of,
    why_command,
    workspace_option,
)

if TYPE_CHECKING:
    from clew.server.session.session import Session
    from clew.server.views.target import Found

STEPS = 1000


@click.command()
@click.argument("text", required=False)
@click.option("--at", metavar="FILE:LINE", help="A line of a log file, a logging call, or a function's last call.")
@click.option("--event", type=int, help="An event, by its number in the run (see the JSON output).")
@click.option(
    "--test",
    metavar="NODEID",
    shell_complete=failed_nodes,
    help="A failed test of `pytest --clew`, by the end of its id.",
)
@click.option(
    "--value",
    is_flag=False,
    flag_value="",
    metavar="[EXPR]",
    help="Run the failed test again, and tell how the values of its failure came about, or the value of EXPR.",
)
@click.option(
    "--again/--no-again",
    default=None,
    help="Whether to run it again. By default a failed test runs again unless that takes long. A program, with all its "
    "effects, runs again only with --value and --again.",
)
@click.option(
    "--written",
    metavar="STATE",
    help="List who wrote an attribute, a variable, a table or a key, such as Cart.discount or stock['tea'], in a run "
    "recorded with --writes.",
)
@click.option("--failed", is_flag=True, help="List the suspects of every failed test of the run.")
@click.option("--all", "every", is_flag=True, help="Explain every matching log line, not only the newest.")
@click.option("--errors", is_flag=True, help="Group all errors of the run by their cause.")
@click.option("--causes", is_flag=True, help="Also list every recorded cause, with counts, and the whole chain.")
@click.option(
    "--steps",
    "steps_at_most",
    type=click.IntRange(2),
    help="Also print the recorded chain, shortened in the middle to at most this many steps. With --test, "
    "the chain of values has as many, too.",
)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the answer in Markdown, for a ticket.")
@absence_options
@run_option
@workspace_option
@json_option
def why(
    *,
    text: str | None,
    at: str | None,
    event: int | None,
    test: str | None,
    value: str | None,
    again: bool | None,
    written: str | None,
    failed: bool,
    every: bool,
    errors: bool,
    causes: bool,
    steps_at_most: int | None,
    as_markdown: bool,
    missing: str | None,
    request: str | None,
    baseline: str | None,
    run: str | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Answer why a log line was written.

    TEXT is any part of a log message, a whole log line (text or JSON), or FILE:LINE, a line of a log file or of source.
    `-` reads the line from standard input. The default is the newest error, or the last error of the failed test. The
    answer begins with the verdict and how sure it is: recorded, inferred (and from what), or not known (and which
    command would record it). The steps after it are grouped by request or task; each has its time, the kind of the
    reason (data, resource, control, call, scheduling) and a line of the program.

    For a failed test, the answer begins with its exception and the suspects, the functions that may have made it fail. The
    traceback, the calls of failing and passing tests, and edits since the test passed rank them. With --test the test runs
    again, to tell which lines and values made it fail. --no-again, the marker clew_no_second_look or pytest's setting
    clew_second_look = false prevents that.

    \b
    Examples:
      clew why 'Write request failed'
      clew why server.log:17
      grep -m1 'timed out' server.log.1 | clew why -
      clew why --at chunkstore/client.py:42 --run before
      clew why --test test_cart.py::test_total
      clew why --test test_cart.py::test_total --value
      clew why --value 'self.discount' --at shop.py:8
      clew why 'negative total' --value --again
      clew why --written Cart.discount
      clew why --failed
      clew why --errors
      clew why 'timed out' --all --json
      clew why 'timed out' --causes
      clew why 'timed out' --markdown | gh issue create --title 'Timeout' --body-file -
      clew why 'order 17 was slow' --baseline healthy
      clew why --not 'order 17 done'
      clew why --not Cart.checkout --baseline healthy
    """
    if again is not None and value is None and test is None:
        raise click.UsageError("--again and --no-again are only for --value and --test")
    if written is not None:
        _refuse(
            "--written", TEXT=text, at=at, event=event, test=test, failed=failed, all=every, errors=errors, causes=causes,
            steps=steps_at_most, markdown=as_markdown, baseline=baseline, request=request, value=value, **{"not": missing},
        )  # fmt: skip
        from clew.cli.output.states import ask_history

        ask_history(open_session(workspace), written, run or "", as_json=as_json)
        return
    if value is not None:
        if again is False:
            raise click.UsageError("--value runs the test or the program again: it takes no --no-again")
        _refuse(
            "--value", all=every, causes=causes, failed=failed, errors=errors, markdown=as_markdown, baseline=baseline,
            request=request,
        )  # fmt: skip
        if missing is not None:
            raise click.UsageError("--value takes no --not")
        from clew.cli.output.values import ask_value

        ask_value(
            open_session(workspace), value, text=text, at=at, event=event, test=test, run=run, again=bool(again),
            steps_at_most=steps_at_most, as_json=as_json,
        )  # fmt: skip
        return
    if missing is not None:
        _refuse(
            "--not",
            TEXT=text,
            at=at,
            test=test,
            failed=failed,
            all=every,
            errors=errors,
            causes=causes,
            steps=steps_at_most,
            markdown=as_markdown,
        )
        options = {"run": run, "request": request, "baseline": baseline}
        why_not(missing, event, options, workspace, as_json=as_json)
        return
    from clew.cli.output import answers
    from clew.cli.output.progress import say_phase
    from clew.graph.ops.facts.unfollowed import unfollowed_at
    from clew.server.session.session import Task
    from clew.server.text.chain import causes_of
    from clew.server.text.failed_test import with_failed_test
    from clew.server.views.answer import verdict
    from clew.server.views.failed_test import failed_test, looked_test
    from clew.server.views.target import find_target
    from clew.server.views.why import explain

    if as_json and as_markdown:
        raise click.UsageError("use only one of --json and --markdown")
    if request is not None:
        raise click.UsageError("--request is only for --not")
    if errors:
        _refuse(
            "--errors", TEXT=text, at=at, event=event, test=test, failed=failed, all=every, causes=causes,
            steps=steps_at_most, baseline=baseline,
        )  # fmt: skip
    if failed:
        _refuse(
            "--failed", TEXT=text, at=at, event=event, test=test, all=every, causes=causes, steps=steps_at_most,
            baseline=baseline,
        )  # fmt: skip
    session = open_session(workspace)
    if failed:
        print_failed(session, run or "", as_json=as_json, as_markdown=as_markdown)
        return
    if errors:
        _errors(session, run or "", as_json=as_json, as_markdown=as_markdown)
        return
    found = find_target(session, run or "", target_of(text, at, event, test), Task(), every=every)
    graph = found.run.graph
    usual = session.open(baseline, Task()).graph if baseline else None
    print_live_note(found.run)
    listed = {one: causes_of(graph, one) for one in found.events} if causes else {}
    # The chain and the slice take longer than the answer, so they are computed only if they are shown.
    whole = {
        one: explain(graph, one, steps_at_most or STEPS, usual)
        for one in found.events
        if causes or steps_at_most or as_json
    }
    of_test = None
    if found.test and test is not None and again is not False:
        most = {"most_steps": steps_at_most} if steps_at_most else {}
        of_test = looked_test(session, found.run, found.test, Task(say_phase), may_take_long=bool(again), **most)
    elif found.test:
        of_test = failed_test(session, found.run, found.test, Task())
    if of_test is not None:
        whole = {one: replace(it, answer=with_failed_test(it.answer, of_test)) for one, it in whole.items()}
    if as_json:
        made = [answers.Causes(one, it.title, it.answer, listed[one]) if causes else it for one, it in whole.items()]
        print_json({"run": session.ref(found.run), "matches": found.matches, "answers": made})
        return
    verdicts = [
        whole[one].answer if one in whole else with_failed_test(verdict(graph, one, usual), of_test)
        for one in found.events
    ]
    if as_markdown:
        click.echo("\n---\n\n".join(it.markdown for it in verdicts), nl=False)
        return
    command = why_command(session, found.run, run)
    click.echo(_head(found))
    for it in verdicts:
        click.echo()
        if it.failedTest is not None:
            answers.print_failed_test(it.failedTest)
            click.echo()
        answers.print_verdict(it)
        if unfollowed_at(graph, it.event) is not None:
            if it.event in whole:
                click.echo("\nNo causes are listed, because events of other tasks may be among them.")
            continue
        if causes:
            answers.print_others(it)
            answers.print_causes(listed[it.event], command)
        if it.event in whole:
            answers.print_chain(whole[it.event])
        else:
            answers.print_more(graph, it, command)
    print_problems(found.run)


def _refuse(option: str, **others: object) -> None:
    """Refuse what an option would ignore. Raises `UsageError`."""
    for name, value in others.items():
        if value is not None and value is not False:
            raise click.UsageError(f"{option} takes no {name if name.isupper() else f'--{name}'}")


def _head(found: Found) -> str:
    from clew.server.text import units

    head = f"run {found.run.info.name} ({units.when(found.run.info.started)})"
    if found.matches > len(found.events):
        if found.reasons:
            likeliest = f"this is the likeliest ({', '.join(found.reasons)})"
            return f"{head}: {found.matches:,} events may have written it, {likeliest}; use --all to see the next ones"
        return f"{head}: {found.matches:,} match, this is the newest; use --all to see every one"
    return head


def _errors(session: Session, which: str, *, as_json: bool, as_markdown: bool) -> None:
    from clew.cli.output import answers
    from clew.server.session.session import Task
    from clew.server.text import units
    from clew.server.text.answer import causes_markdown
    from clew.server.views.answer import error_causes

    run = session.open(which, Task())
    print_live_note(run)
    grouped = error_causes(run.graph)
    if as_json:
        print_json({"run": session.ref(run), "errors": grouped})
        return
    if as_markdown:
        click.echo(causes_markdown(grouped), nl=False)
    else:
        click.echo(f"run {run.info.name} ({units.when(run.info.started)}): {grouped.title}")
        answers.print_error_causes(grouped, why_command(session, run, which))
    print_problems(run)
