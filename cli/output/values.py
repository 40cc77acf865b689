"""Print why a value is what it is: the chain of values of a second look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew.cli.output.options import print_json, print_problems, target_of

if TYPE_CHECKING:
    from clew.server.session.session import Session


def ask_value(
    session: Session, expression: str, *, text: str | None, at: str | None, event: int | None, test: str | None,
    run: str | None, again: bool, steps_at_most: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Take a second look at a value, and print the answer. Raises `ClewError`."""
    from clew.cli.output.progress import say_phase
    from clew.graph.values.chain import MOST_STEPS
    from clew.records.format.event import Kind
    from clew.server.session.session import Task
    from clew.server.text.value_answer import lines
    from clew.server.views.target import find_target
    from clew.server.views.value import ValueQuestion, value_answer

    location = target_of(None, at, None).location if at is not None else None
    recorded = session.open(run or "", Task())
    is_asked = text is not None or event is not None or test is not None
    # A line alone is asked about in the newest failed test, or in the program.
    found = find_target(session, run or "", target_of(text, None, event, test), Task()) if is_asked or not at else None
    if found is None and recorded.info.tests and recorded.info.exit_code:
        found = find_target(session, run or "", target_of(None, None, None), Task())
    of_test = found.test if found is not None else ""
    line = found.event if found is not None and not of_test else -1
    is_line = line >= 0 and found is not None and found.run.graph.kind[line] in (Kind.LOG, Kind.EXCEPTION)
    question = ValueQuestion(
        expression=expression,
        file=location.path if location is not None else "",
        line=location.line if location is not None else 0,
        test=of_test,
        event=line if is_line else -1,
        may_repeat=again,
        most=steps_at_most or MOST_STEPS,
    )
    of_run = found.run if found is not None else recorded
    answer = value_answer(session, of_run, question, Task(say_phase))
    if as_json:
        print_json({"run": session.ref(of_run), "answer": answer})
        return
    for shown in lines(answer, of_run.info.workspace):
        click.echo(shown)
    print_problems(of_run)
