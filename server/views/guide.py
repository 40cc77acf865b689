"""Guides for clients: the next question, or the next step.

A request has all answers, so that going back is a request with fewer answers. Invariant: the results of the last guide
are cached while its finished runs stay open. For a live run they are cached until the first step is requested again.
"""

from __future__ import annotations

import weakref
from dataclasses import replace

from clew.records.errors import ClewError
from clew.server.guides.critical_paths import Paths
from clew.server.guides.errors import Errors
from clew.server.guides.guide import Analysis, NothingFound
from clew.server.guides.regressions import Regression
from clew.server.guides.saved_query import save
from clew.server.protocol.views.guide import WizardAnswer, WizardParams, WizardResult, WizardStep
from clew.server.session.answer_process import answered
from clew.server.session.session import Fingerprint, Session, Task, fingerprint_of

ANALYSES: dict[str, type[Analysis]] = {cls.name: cls for cls in (Errors, Paths, Regression)}

_Asked = tuple[str, tuple[str, ...], tuple[Fingerprint, ...]]


class _CachedGuide:
    """A guide with all answers, and the steps made so far."""

    def __init__(self, question: _Asked, analysis: Analysis, asked: list[WizardAnswer]) -> None:
        self.question = question
        self.analysis = analysis
        self.asked = asked
        self.steps: dict[int, WizardStep] = {}


_LAST: weakref.WeakKeyDictionary[Session, _CachedGuide] = weakref.WeakKeyDictionary()


def wizard(session: Session, params: WizardParams, task: Task, *, leave: bool = True) -> WizardResult:
    """Raises `ClewError` for an answer that is not a choice, or an unknown step. `leave`: whether to save the query."""
    kind = ANALYSES[params.analysis]
    known = _LAST.get(session)
    if known is not None and _is_current(session, known, params):
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
            raise ClewError(f"{question.text} {answer!r} is no longer one of the choices; start again")
        asked.append(WizardAnswer(question.text, chosen.title))
    cached = _CachedGuide(_question(session, params), analysis, asked)
    _LAST[session] = cached
    return _step(session, cached, params.step, task, leave=leave)


def whole_runs(session: Session, params: WizardParams) -> list[str]:
    """Return the selected runs, which are read as a whole."""
    return [answer for answer in params.answers[:2] if (session.workspace / ".clew" / "runs" / answer).is_dir()]


def _is_current(session: Session, known: _CachedGuide, params: WizardParams) -> bool:
    if params.step and known.analysis.snapshots:
        return known.question[:2] == (params.analysis, tuple(params.answers))
    return known.question == _question(session, params)


def _question(session: Session, params: WizardParams) -> _Asked:
    """Return the question's key, with the parts that may change: the files of the selected runs."""
    runs = whole_runs(session, params)
    return params.analysis, tuple(params.answers), tuple(fingerprint_of(session.folder(run)) for run in runs)


def _step(session: Session, cached: _CachedGuide, number: int, task: Task, *, leave: bool) -> WizardResult:
    analysis = cached.analysis
    count = len(analysis.steps())
    if not 0 <= number < count:
        raise ClewError(f"there is no step {number}; there are {count}, from 0")
    if number not in cached.steps:
        step = analysis.step(number, task)
        cached.steps[number] = replace(step, run=analysis.chosen(0).info.id)
    result = WizardResult(analysis.title, cached.asked, step=cached.steps[number], steps=count)
    if number < count - 1 or not leave:
        return result
    steps = [cached.steps.get(each) or analysis.step(each, task) for each in range(count)]
    try:
        file = save(
            session.workspace, analysis.name,
            title=analysis.title, asked=cached.asked, preamble=analysis.preamble(), steps=steps,
        )  # fmt: skip
    except ClewError as error:
        # The results are valid without the saved file.
        return replace(result, unsaved=str(error))
    return replace(result, saved=str(file))


def guide(session: Session, params: WizardParams, task: Task) -> WizardResult:
    """Answer `wizard`, in a worker process where the runs are large."""
    return answered(session, whole_runs(session, params), task, wizard, params)
