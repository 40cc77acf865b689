"""Completion in a spec without a server; a `|` marks the cursor. The oracle is the specs of the repository: each of their
keywords must be proposed at its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.esl import SourceIndex, check
from clew.esl.assist.completion import Completion, complete
from clew.esl.assist.semantic_tokens import tokens_of
from clew.esl.assist.snippets import SNIPPETS
from clew.esl.syntax.keywords import KEYWORDS, MEMBER_KEYWORDS
from clew.esl.syntax.parser import parse


def proposed(marked: str) -> dict[str, Completion]:
    before, _, after = marked.partition("|")
    return {item.label: item for item in complete(before + after, len(before), None).items}


def test_completion_proposes_every_keyword_of_valid_specs(specs: dict[str, str]) -> None:
    missing, unexplained, seen = [], [], set()
    for text in specs.values():
        for start, end, kind, _ in tokens_of(text):
            # Only one of many equal contexts is tested.
            around = re.sub(r"[^\W\d]\w*\.\w[\w.]*|\d+", "", text[max(0, start - 30) : end])
            if kind != "keyword" or around in seen:
                continue
            seen.add(around)
            word = " ".join(text[start:end].split())
            found = {item.label: item for item in complete(text[:start], start, None).items}
            if word not in found:
                missing.append((word, text[max(0, start - 60) : end]))
            elif found[word].kind != "unit" and word not in found[word].help:
                unexplained.append((word, found[word].help))
    assert (missing, unexplained) == ([], [])
    assert len(seen) > 300


def test_snippets_of_every_statement_parse() -> None:
    assert set(SNIPPETS) == {*KEYWORDS, *MEMBER_KEYWORDS}
    for word, snippet in SNIPPETS.items():
        filled = re.sub(r"\$\{\d+\|(\w+)[^}]*\}", r"\1", re.sub(r"\$\{\d+:([^}]*)\}", r"\1", snippet))
        filled = re.sub(r"\$\d", "", filled)
        text = f"entity A is a:B {{ {filled} }}" if word in MEMBER_KEYWORDS else filled
        assert [problem.message for problem in parse(text).problems] == [], word


@pytest.mark.parametrize(
    ("marked", "there", "not_there"),
    [
        ('parameter part = "a";\nparameter most = 2;\nscope shop.$|', {"$part", "$most"}, {"shop"}),
        ('parameter part = "a";\npayload a:f value $p|', {"$part"}, {"len"}),
        ("payload a:f value x at most 10/|", {"s", "min", "h"}, {"KB"}),
        ("include requests(|", {"urls"}, {"flask"}),
        ("include requests(urls = True), fl|", {"flask"}, {"urls", "requests"}),
        ("entity Link is a:B contains |", set(), {"position"}),
        ("entity Link |", {"is", "extended"}, {"contains"}),
        ("entity Link is a:B |", {"unique", "contains"}, {"extended"}),
        ("scope |", {"async"}, {"decorated by"}),
        ("scope a.** |", {"decorated by", "in subclasses of", "except"}, {"or subclasses"}),
        ("scope a.** in b:C |", {"or subclasses"}, {"decorated by"}),
        ("payload a:f value with|", {"without_literals"}, {"with ids"}),
    ],
)
def test_completion_proposes_every_word_that_the_grammar_accepts(
    marked: str, there: set[str], not_there: set[str]
) -> None:
    found = set(proposed(marked))
    assert there <= found and not_there.isdisjoint(found), found


def test_completion_of_parameter_includes_its_dollar_sign() -> None:
    text = 'parameter part = "a";\nscope shop.$p'
    (item,) = complete(text, len(text), None).items
    assert (text[: item.start] + item.label, item.detail) == ('parameter part = "a";\nscope shop.$part', '"a"')


WEB = """\
import functools
from shop.site import app, blog

@app.route("/")
def index(): pass

@blog.route("/new")
@functools.cache
def new(): pass

class Cart:
    @property
    def total(self): return 0
    @total.setter
    def total(self, value): pass
"""
SITE = "import functools\nfrom functools import cache\n@cache\ndef one(): pass\ndef plain(): pass\n"


@pytest.mark.parametrize(
    ("marked", "there"),
    [
        (
            "scope shop.web decorated by |",
            [
                ("*.cache", "of 1 function that matches"),
                ("*.route", "of 2 functions that match"),
                ("*.setter", "of 1 function that matches"),
                ("app.route", "of 1 function that matches"),
                ("blog.route", "of 1 function that matches"),
                ("functools.cache", "of 1 function that matches"),
                ("property", "of 1 function that matches"),
                ("shop.site.app.route", "of 1 function that matches"),
                ("shop.site.blog.route", "of 1 function that matches"),
                ("cache", "of 1 function"),
                ("shop", "3 modules"),
            ],
        ),
        ("scope shop.** decorated by *.route, prop|", [("functools.cache", "of 2 functions that match")]),
        ("scope async shop.site except shop.** decorated by |", [("*.route", "of 2 functions")]),
    ],
)
def test_completion_after_decorated_by_proposes_used_decorators_first(
    workspace: Callable[..., Path], marked: str, there: list[tuple[str, str]]
) -> None:
    index = SourceIndex(workspace({"shop/__init__.py": "", "shop/web.py": WEB, "shop/site.py": SITE}))
    text = marked.rstrip("|")
    found = [(item.label, item.detail) for item in complete(text, len(text), index).items]
    assert [each for each in found if each in there] == there
    if len(there) > 1:
        assert [each for each in found if each[1]] == there
    # Each proposed decorator matches functions.
    for name, detail in found:
        if detail.startswith("of "):
            checked = check("a.esl", index.root, text=f"scope shop.** decorated by {name};", index=index)
            assert len(checked.matches[0].functions) >= int(detail.split()[1]), name
