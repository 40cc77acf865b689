"""The language reference is correct: its examples are valid specs, and it explains every word of the language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clew.esl import SourceIndex, check, compile_text
from clew.esl.lower.expressions import AT_FINISH, FUNCTIONS, METHODS, THIS
from clew.esl.packs.registry import known
from clew.esl.syntax.keywords import BUILT_IN_LEVELS, CLAUSES, EVENTS, KEYWORDS, MEMBER_KEYWORDS, MOMENTS, UNITS
from tests.support.specs.damaged_texts import damaged

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/esl.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```esl\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def index() -> SourceIndex:
    return SourceIndex(ROOT / "examples" / "chunkstore")


@pytest.mark.parametrize("example", EXAMPLES)
def test_reference_examples_have_no_problems(example: str) -> None:
    problems = [problem.message for problem in compile_text(example, workspace="/").problems]
    assert [message for message in problems if "makes no edge" not in message] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_reference_examples_match_functions_of_their_source(example: str, index: SourceIndex) -> None:
    result = check("example.esl", index.root, text=example, index=index)
    expected = ("no pack is included", "installed packages are not checked")
    assert [
        problem.message for problem in result.problems if not any(part in problem.message for part in expected)
    ] == []
    assert all(match.functions for match in result.matches if match.rule.pattern.module.startswith("chunkstore"))


def test_reference_has_an_example_of_every_statement() -> None:
    shown = {statement for example in EXAMPLES for statement in re.findall(r"^\s*(\w+)", example, re.MULTILINE)}
    assert shown >= {*KEYWORDS, *MEMBER_KEYWORDS}


def test_reference_explains_every_word_of_the_language() -> None:
    words = {
        *KEYWORDS,
        *MEMBER_KEYWORDS,
        *MOMENTS,
        *EVENTS,
        *UNITS,
        *BUILT_IN_LEVELS,
        *known(),
        *FUNCTIONS,
        *METHODS,
        *AT_FINISH,
    }
    words |= {
        THIS,
        "each",
        "except",
        "unsafe",
        "with ids",
        *(word for kinds in CLAUSES.values() for kind in kinds for word in kind),
    }
    packs = (ROOT / "docs/packs.md").read_text("utf-8")
    code = " ".join([*EXAMPLES, *re.findall(r"`+([^`]+)`+", TEXT + packs)])
    assert sorted(word for word in words if not re.search(rf"\b{re.escape(word)}\b", code)) == []


@pytest.mark.parametrize("row", re.findall(r"^\| `([^`]+)` \| (?:all|that|the functions|every)", TEXT, re.MULTILINE))
def test_reference_patterns_match_functions(row: str, index: SourceIndex) -> None:
    (match,) = check("example.esl", index.root, text=f"scope {row};", index=index).matches
    assert match.functions or "__repr__" in row


def test_reference_forms_of_values_compile() -> None:
    table = TEXT[TEXT.index("| form | means |") : TEXT.index("A value never runs code")]
    cells = [line.split(" | ")[0] for line in table.splitlines()[2:] if line.startswith("| `")]
    forms = [form for cell in cells for form in re.findall(r"`([^`]+)`", cell)]
    operators = [
        form
        for form in forms
        if not re.match(r"[\w\"'(]", form) or form in ("in", "not in", "is", "is not", "and", "or")
    ]
    values = [form for form in forms if form not in operators]
    assert len(operators) > 15 and len(values) > 25
    for text in [
        *values[: values.index("not")],
        *values[values.index("not") + 1 :],
        *(f"a {each} b" for each in operators),
        "not a",
    ]:
        compiled = compile_text(f"payload finish a:f value {text} as x;", workspace="/")
        assert compiled.problems == (), text


def problems_of(text: str, index: SourceIndex) -> None:
    """Assert that each problem has a message and a place in the text that agrees with its line and column."""
    for problem in check("example.esl", index.root, text=text, index=index, refresh=False).problems:
        span = problem.span
        assert problem.message and 0 <= span.start <= span.end <= len(text)
        before = text[: span.start]
        assert (span.line, span.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))


@pytest.mark.parametrize("example", EXAMPLES)
def test_check_of_every_prefix_of_examples_has_valid_problems(example: str, index: SourceIndex) -> None:
    for stop in range(len(example)):
        problems_of(example[:stop], index)


@pytest.mark.slow
def test_check_of_damaged_examples_has_valid_problems(index: SourceIndex) -> None:
    for text in damaged(EXAMPLES, 10_000):
        problems_of(text, index)
