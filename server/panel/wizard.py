"""Guided analyses for whoever shows them: the next question, or the next step.

A request carries all answers, so that going back is asking with fewer. Invariant: what the steps of the last analysis found is
kept only as long as its runs are the ones that are open, or of a run that goes on, until someone asks for its first step.
"""

from __future__ import annotations

import weakref
from dataclasses import replace

from clew.records.errors import ClewError
from clew.server.protocol import WizardAnswer, WizardParams, WizardResult, WizardStep
from clew.server.session import Fingerprint, Session, Task, fingerprint_of
from clew.server.wizards.analysis import Analysis, NothingFound
from clew.server.wizards.errors import Errors
from clew.server.wizards.paths import Paths
from clew.server.wizards.regressions import Regression
from clew.server.wizards.saved import save

ANALYSES: dict[str, type[Analysis]] = {cls.name: cls for cls in (Errors, Paths, Regression)}

_Asked = tuple[str, tuple[str, ...], tuple[Fingerprint, ...]]


class _Kept:
    """An analysis whose questions are all answered, with the steps that were made."""

    def __init__(self, question: _Asked, analysis: Analysis, asked: list[WizardAnswer]) -> None:
        self.question = question
        self.analysis = analysis
        self.asked = asked
        self.steps: dict[int, WizardStep] = {}


_LAST: weakref.WeakKeyDictionary[Session, _Kept] = weakref.WeakKeyDictionary()


def wizard(session: Session, params: WizardParams, task: Task, *, leave: bool = True) -> WizardResult:
    """Raises `ClewError` for an answer that is no choice, or a step that there is not. `leave`: is the query saved?"""
    kind = ANALYSES[params.analysis]
    known = _LAST.get(session)
    if known is not None and _goes_on(session, known, params):
        return _step(session, known, params.step, task, leave=leave)
    analysis = kind(session, params.answers)
    asked: list[WizardAnswer] = []
    for number in range(len(analysis.questions())):
        try:
            question = analysis.question(number, task)
        except NothingFound as nothing:
            return WizardResult(kind.title, asked, message=f"{str(nothing)[0].upper()}{str(nothing)[1:]}.")
        if number == len(params.answers):
            return WizardResult(kind.title, asked, question)
        answer = params.answers[number]
        chosen = next((choice for choice in question.choices if choice.value == answer), None)
        if chosen is None:
            raise ClewError(f"{question.text} {answer!r} is none of the choices any more; begin again")
        asked.append(WizardAnswer(question.text, chosen.title))
    kept = _Kept(_question(session, params), analysis, asked)
    _LAST[session] = kept
    return _step(session, kept, params.step, task, leave=leave)


def whole_runs(session: Session, params: WizardParams) -> list[str]:
    """Those that were chosen, of which all is looked at."""
    return [answer for answer in params.answers[:2] if (session.workspace / ".clew" / "runs" / answer).is_dir()]


def _goes_on(session: Session, known: _Kept, params: WizardParams) -> bool:
    if params.step and known.analysis.looks:
        return known.question[:2] == (params.analysis, tuple(params.answers))
    return known.question == _question(session, params)


def _question(session: Session, params: WizardParams) -> _Asked:
    """With what may have changed since: the files of the runs that were chosen."""
    runs = whole_runs(session, params)
    return params.analysis, tuple(params.answers), tuple(fingerprint_of(session.folder(run)) for run in runs)


def _step(session: Session, kept: _Kept, number: int, task: Task, *, leave: bool) -> WizardResult:
    analysis = kept.analysis
    count = len(analysis.steps())
    if not 0 <= number < count:
        raise ClewError(f"there is no step {number}; there are {count}, from 0")
    if number not in kept.steps:
        step = analysis.step(number, task)
        kept.steps[number] = replace(step, run=analysis.chosen(0).info.id)
    result = WizardResult(analysis.title, kept.asked, step=kept.steps[number], steps=count)
    if number < count - 1 or not leave:
        return result
    steps = [kept.steps.get(each) or analysis.step(each, task) for each in range(count)]
    try:
        file = save(
            session.workspace, analysis.name,
            title=analysis.title, asked=kept.asked, preamble=analysis.preamble(), steps=steps,
        )  # fmt: skip
    except ClewError as error:
        # What was found is worth as much without.
        return replace(result, unsaved=str(error))
    return replace(result, saved=str(file))
