"""Semantic tokens of a spec, which an editor colours by meaning."""

from __future__ import annotations

import pytest

from clew.esl.assist.semantic_tokens import tokens_of


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("parameter most = 1; payload a:f value x at most $most/min;",
         {"most": "variable declaration", "$most": "variable readonly", "min": "keyword", "at most": "keyword"}),
        ("payload a:f value n / s;", {"s": "parameter"}),
        ("include requests(urls = True);", {"requests": "namespace defaultLibrary", "urls": "parameter", "True": "keyword"}),
        ("entity A extended contains B by this.x { when start f() on x -> deletion(this); }",
         {"extended": "keyword", "B": "class", "by": "keyword", "on": "keyword", "deletion": "event defaultLibrary"}),
        ("scope async a.** decorated by b.c in d:E or subclasses;",
         {"async": "keyword", "decorated by": "keyword", "in": "keyword", "or subclasses": "keyword"}),
        ("redact matching 'x';", {"matching": "keyword", "'x'": "string"}),
        ("payload a:f value without_literals(sql);", {"without_literals": "function defaultLibrary", "sql": "parameter"}),
    ],
)  # fmt: skip
def test_semantic_tokens_follow_the_meaning_of_words(text: str, told: dict[str, str]) -> None:
    found = {text[start:end]: f"{kind} {modifier}".strip() for start, end, kind, modifier in tokens_of(text)}
    assert {word: found.get(word) for word in told} == told
