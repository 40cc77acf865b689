"""The guides of a report: their questions with the likeliest choices, and every step that follows from these.

Invariant: a choice is offered only if its consequences are in the report; nothing is saved in the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.protocol import registry
from clew.server.protocol.codec import decode, encode
from clew.server.protocol.views.guide import WizardParams, WizardQuestion, WizardResult, WizardStep
from clew.server.reports.book import METHODS, Book, Question
from clew.server.session.session import Session, Task
from clew.server.views.guide import ANALYSES, wizard

CHOICES = 3
"""Choices per question; the likeliest come first."""


def add_guide(session: Session, book: Book, runs: Sequence[str], task: Task) -> None:
    """Add the guides of the first run, as far as they fit. If there is a second run, add the comparison with it too."""
    for name, kind in ANALYSES.items():
        asked = Question("Step by step", kind.title, "wizard", {"analysis": name, "answers": []})
        try:
            if _Guided(session, book, runs, asked, task).ask([]):
                book.list_(asked)
        except ClewError as error:
            book.leave_out(asked, error)


class _Guided:
    def __init__(self, session: Session, book: Book, runs: Sequence[str], asked: Question, task: Task) -> None:
        self.session, self.book, self.runs, self.asked, self.task = session, book, runs, asked, task
        self.known = {run.id for run in session.runs().runs}

    def ask(self, answers: list[str]) -> bool:
        """Add the questions and steps after some answers; return whether there are any."""
        result = self._result(answers, 0)
        if result.question is not None:
            return self._question(answers, result, result.question)
        if result.step is None:
            return False
        found = [result, *(self._result(answers, step) for step in range(1, result.steps))]
        if not all(self._add(answers, one, step) for step, one in enumerate(found)):
            return False
        for one in found:
            if one.step is not None:
                self._add_view(one.step)
        return True

    def _question(self, answers: list[str], result: WizardResult, question: WizardQuestion) -> bool:
        run = self.runs[1 if answers else 0] if len(answers) < len(self.runs) else ""
        possible = [one for one in question.choices if one.value not in self.known or one.value == run]
        # Consequences come first, because a choice is offered only if it has some.
        offered = [choice for choice in possible[:CHOICES] if self.ask([*answers, choice.value])]
        left_out = len(possible) - len(offered)
        if offered and left_out:
            self.book.leave_out(self.asked, f"{left_out} of the choices of “{question.text}”")
        return bool(offered) and self._add(answers, replace(result, question=replace(question, choices=offered)), 0)

    def _result(self, answers: list[str], step: int) -> WizardResult:
        params = decode(WizardParams, {**self.asked.params, "answers": answers, "step": step})
        return wizard(self.session, params, self.task, leave=False)

    def _add(self, answers: list[str], result: WizardResult, step: int) -> bool:
        params = {**self.asked.params, "answers": answers, "step": step}
        return self.book.add(replace(self.asked, params=params, listed=False), encode(result))

    def _add_view(self, step: WizardStep) -> None:
        """Add the view that a step opens, if it fits."""
        if step.view not in METHODS or not isinstance(step.params, dict):
            return
        method = METHODS[step.view]
        usual = {one.name: one.default for one in fields(registry.METHODS[method].params)}
        params = {name: _said(value) for name, value in step.params.items() if usual.get(name) != value}
        question = Question(self.asked.section, step.title, step.view, params, listed=False)
        if self.book.has(question):
            return
        try:
            answer = handlers.answer(self.session, method, params, self.task)
        except ClewError:
            return  # the panel reports that it is not in the report
        self.book.add(question, answer)


def _said(value: object) -> object:
    return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else value
