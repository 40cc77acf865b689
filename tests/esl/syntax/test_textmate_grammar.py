"""The TextMate grammar and the language agree. The oracle is the language's own tokens of all specs and examples:
exactly the keywords are coloured as keywords."""

from __future__ import annotations

import json
import re
from pathlib import Path

from clew.esl.assist.cursor_context import words_of
from clew.esl.assist.semantic_tokens import tokens_of
from clew.esl.lower.expressions import AT_FINISH, THIS
from clew.esl.syntax.keywords import EVENTS, KEYWORDS, LOG_LEVELS, RATES, UNITS
from clew.esl.syntax.parser import grammar
from tests.support.specs.textmate import TextMate

ROOT = Path(__file__).parents[3]
GRAMMAR = json.loads((ROOT / "vscode-client/syntaxes/esl.tmLanguage.json").read_text("utf-8"))
EXAMPLES = re.findall(r"^```esl\n(.*?)^```$", (ROOT / "docs/esl.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
WORDS_OF_THE_LANGUAGE = ("keyword.", "constant.language.")


def expressions(node: object) -> list[str]:
    """Return all regular expressions of the grammar."""
    if isinstance(node, list):
        return [each for item in node for each in expressions(item)]
    if isinstance(node, dict):
        here = [value for key, value in node.items() if key in ("match", "begin", "end")]
        return here + [each for value in node.values() for each in expressions(value)]
    return []


def test_textmate_grammar_has_exactly_the_words_of_the_language() -> None:
    plain = " ".join(expressions(GRAMMAR["repository"]))
    plain = re.sub(r"\[(?:\\.|[^\]\\])*\]", " ", plain)  # sets of characters
    told = set(re.findall(r"[A-Za-z]+", re.sub(r"\\[a-zA-Z]", " ", plain)))
    terminals = {word for each in grammar().terminals for words in words_of(each.name) for word in words.split()}
    assert told == terminals | {*KEYWORDS, *EVENTS, *RATES, *UNITS, *LOG_LEVELS, THIS, *AT_FINISH}


def test_textmate_grammar_ends_a_statement_at_the_next_keyword() -> None:
    lists = [found for each in expressions(GRAMMAR) for found in re.findall(r"\(\?:(include\|[a-z|]+)\)", each)]
    assert len(lists) == 4
    # A continued line of `logs` may begin with `level`.
    assert {frozenset(KEYWORDS) - set(each.split("|")) for each in lists} == {frozenset(), frozenset({"level"})}


def test_textmate_grammar_colours_exactly_the_keywords(specs: dict[str, str]) -> None:
    colours = TextMate(GRAMMAR)
    wrong = []
    for text in [*specs.values(), *EXAMPLES]:
        scopes: dict[int, str] = {}
        for start, end, scope in colours.coloured(text):
            scopes |= dict.fromkeys(range(start, end), scope)
        words = {at for start, end, kind, _ in tokens_of(text) if kind == "keyword" for at in range(start, end)}
        for found in re.finditer(r"\w+", text):
            coloured = scopes.get(found.start(), "").startswith(WORDS_OF_THE_LANGUAGE)
            if coloured != (found.start() in words):
                wrong.append((found[0], scopes.get(found.start()), text[max(0, found.start() - 40) : found.end()]))
    assert wrong == []


def test_textmate_grammar_colours_the_statement_after_an_unfinished_one() -> None:
    text = 'scope a.**\nrequest a:f as "x"\nlogs\n  level DEBUG\nlevel part = { a: b }\nuse a:g key use'
    scopes = {start: scope for start, _, scope in TextMate(GRAMMAR).coloured(text) if scope.startswith("keyword.decl")}
    lines = text.splitlines()
    begins = [sum(len(line) + 1 for line in lines[:number]) for number in (0, 1, 2, 4, 5)]
    assert list(scopes) == begins
