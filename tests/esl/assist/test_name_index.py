"""The vocabulary for misspelt names equals a rebuilt one while files change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.esl import SourceIndex
from clew.esl.assist.name_index import Vocabulary, vocabulary
from clew.esl.index.deadline import Deadline, NotNow
from tests.support.examples import examples

NAMES = st.lists(st.sampled_from(["def f(): pass", "def g(): pass", "class A:\n def f(self): pass", "x ="]), max_size=3)


def contents_of(of: Vocabulary) -> list[list[list[str]]]:
    return [of.modules_with(name) for name in ("f", "g", "A.f")], [of.labels_with(top, "f") for top in ("p", "q")]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["p/a.py", "p/b.py", "q/c.py"]), NAMES | st.none()), max_size=8))
def test_vocabulary_after_edits_equals_a_rebuilt_one(tmp_path: Path, edits: list[tuple[str, list[str] | None]]) -> None:
    for folder in ("p", "q"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "__init__.py").touch()
    index = SourceIndex(tmp_path)
    for file, lines in edits:
        index.overlay(tmp_path / file, "\n".join(lines) if lines is not None else None)
        fresh = Vocabulary()
        fresh.update(index, Deadline())
        assert contents_of(vocabulary(index, Deadline())) == contents_of(fresh)


class Steps(Deadline):
    """A deadline of a number of steps, whatever time they take."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.left = steps

    @property
    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_vocabulary_update_interrupted_by_deadline_continues(workspace: Callable[..., Path]) -> None:
    index = SourceIndex(workspace({f"p/m{number}.py": f"def f(): pass\ndef g{number}(): pass" for number in range(9)}))
    fresh, parts, times = Vocabulary(), Vocabulary(), 1
    fresh.update(index, Deadline())
    while True:
        try:
            parts.update(index, Steps(2))
        except NotNow:
            times += 1
        else:
            break
    assert times == 5 and contents_of(parts) == contents_of(fresh) and len(contents_of(parts)[0][0]) == 9


def test_vocabulary_finds_modules_and_labels_of_a_name(workspace: Callable[..., Path]) -> None:
    root = workspace({"p/__init__.py": "def f(): pass", "p/b.py": "class A:\n def f(self): pass\n def g(): pass"})
    found = vocabulary(SourceIndex(root), Deadline())
    assert found.modules_with("f") == ["p"] and found.modules_with("A.g") == ["p.b"]
    assert found.labels_with("p", "f") == ["p.b:A.f"] and found.labels_with("q", "f") == []
