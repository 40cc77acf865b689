"""Requests about specs in a large unread workspace are answered at once; repeated requests get complete answers."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from clew.esl import SourceIndex
from clew.esl.assist import completion
from clew.esl.index import parallel_read
from clew.server.session.cancellation import Task
from clew.server.session.session import Session
from clew.server.session.specs import Specs

MANY = 130
"""The number of files; an index of so many is cached on disk."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".clew" / "runs").mkdir(parents=True)
    for number in range(MANY):
        package = tmp_path / f"p{number % 10}"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        (package / f"m{number}.py").write_text(
            f"@app.route\ndef f{number}(parameter{number}): pass\nclass C{number}: pass\n"
        )
    (tmp_path / "one.py").write_text("def only(): pass\n")
    return tmp_path


def specs_of(folder: Path) -> Specs:
    session = Session(folder)
    return Specs(lambda: session, list)


def labels(found: completion.Completions) -> list[str]:
    return [item.label for item in found.items]


QUESTIONS = ["scope ** decorated by ", "payload ** value ", "scope p1.**:", "entity A is p1.**:"]


@pytest.mark.parametrize("text", QUESTIONS)
def test_specs_complete_repeated_has_the_postponed_proposals(folder: Path, text: str) -> None:
    everything = labels(completion.complete(text, len(text), SourceIndex(folder)))
    specs, spec = specs_of(folder), str(folder / "a.esl")
    first = specs.complete(spec, text, len(text), 0.0)
    assert first.postponed and not first.whole and set(labels(first)) < set(everything)
    assert specs.with_index(lambda index: len(index.unread(index.files))) > MANY

    specs.prepare(Task())
    # A request about few files does not read the others.
    assert specs.with_index(lambda index: index.unread(index.files) == []) is ("p1" not in text)
    found = specs.complete(spec, text, len(text), 1e9)
    assert labels(found) == everything and not found.postponed
    if "**:" not in text:
        # Names that were found once are cached.
        assert labels(specs.complete(spec, text, len(text), 0.0)) == everything


def test_specs_check_suggests_names_once_all_files_are_read(folder: Path) -> None:
    specs, spec = specs_of(folder), str(folder / "a.esl")
    text = (
        "include standard;\nscope p2.m2:nowhere;\nscope p2.m2:f12;\nscope one decorated by app.rout;\n"
        "scope one in subclasses of p3.m13:CC13;\n"
    )

    def messages(time_limit: float) -> tuple[list[str], bool]:
        checked = specs.check(spec, text, time_limit)
        return [problem.message for problem in checked.problems], checked.postponed

    first, postponed = messages(60.0)
    assert postponed and not any("did you mean" in message for message in first)
    assert specs.with_index(lambda index: len(index.unread(index.files))) > MANY - 20
    specs.prepare(Task())
    found, postponed = messages(60.0)
    assert not postponed
    meant = [message.partition("did you mean ")[2] for message in found]
    assert meant == ["", "`p2.m12:f12`?", "`app.route`?", "`p3.m13:C13`?"]


def test_specs_complete_while_the_index_is_busy_has_keywords(folder: Path) -> None:
    specs, spec = specs_of(folder), str(folder / "a.esl")
    taken, done = threading.Event(), threading.Event()

    def be_busy(_: SourceIndex) -> None:
        taken.set()
        assert done.wait(60)

    busy = threading.Thread(target=specs.with_index, args=(be_busy,))
    busy.start()
    assert taken.wait(60)
    found = specs.complete(spec, "include standard;\ns", 19)
    assert "scope" in labels(found) and found.postponed and not found.whole
    done.set()
    busy.join()
    assert not specs.complete(spec, "include standard;\ns", 19).postponed


def test_specs_prepare_reads_files_while_others_use_the_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs, spec = specs_of(folder), str(folder / "a.esl")
    text, read = "payload ** value ", parallel_read.read_files
    answers: list[str] = []

    def slowly(jobs: Any) -> Any:
        # Before any file has been read the user types, and the editor changes one of the files.
        answers.extend(labels(specs.complete(spec, "include ", 8)))
        specs.overlay(str(folder / "one.py"), "def only(changed): pass\n")
        return read(jobs)

    monkeypatch.setattr(parallel_read, "read_files", slowly)
    assert specs.complete(spec, text, len(text), 0.0).postponed
    specs.prepare(Task())
    assert "standard" in answers
    assert "changed" in labels(specs.complete(spec, text, len(text), 1e9))
