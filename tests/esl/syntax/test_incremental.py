"""Results cached between keystrokes never change the checks of a spec."""

from __future__ import annotations

import dataclasses
import importlib
import os
import pkgutil
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew.esl
from clew import esl
from clew.esl.assist import fuzzy
from clew.esl.syntax.ast import Node
from clew.esl.syntax.parser import grammar, parse, read_block
from clew.esl.syntax.problem import in_order
from clew.esl.syntax.problem import nearest as nearest_of_all
from tests.support.examples import examples

ROOT = Path(__file__).parents[3]
EXAMPLES = re.findall(r"^```esl\n(.*?)^```$", (ROOT / "docs/esl.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
PIECES = [
    ";", "{", "}", "/*", "*/", "/* a */", "// b ;", "# }", '"', "'", "\n", "\n\n", "\r\n", " ", "send", "\nscope a.b",
    "\nentity", "level x = {", "a: b;", "\n;", "$part", "when", "\u00e9", "};", "} ;", "logs", ":", "\\",
]  # fmt: skip


def places(value: object) -> Iterator[tuple[str, Any]]:
    """Yield the type of every node of a tree with its span."""
    if isinstance(value, Node):
        yield type(value).__name__, value.span
        for each in dataclasses.fields(value):
            yield from places(getattr(value, each.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from places(item)


def check_cut(text: str) -> None:
    """Assert that a text parsed in blocks equals the text parsed as one block."""
    parse.cache_clear()
    units, problems = read_block(text)
    parsed = parse(text)
    statements = tuple(unit.statement for unit in units)
    assert parsed.tree.statements == statements, text
    assert list(places(parsed.tree.statements)) == list(places(statements)), text
    assert parsed.problems == in_order(problems), text


@pytest.mark.parametrize("text", EXAMPLES)
def test_parse_in_blocks_of_examples_equals_parse_as_one(text):
    check_cut(text)
    check_cut(text.replace("\n", "\r\n"))
    check_cut("\n".join(EXAMPLES))


def test_parse_in_blocks_of_damaged_texts_equals_parse_as_one():
    chance = random.Random(3)
    for _ in range(600):
        lines = [line for text in chance.sample(EXAMPLES, 2) for line in text.splitlines(keepends=True)]
        begin = chance.randrange(len(lines))
        text = "".join(lines[begin : begin + 12])
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(text) + 1)
            text = text[:place] + chance.choice(PIECES) + text[place + chance.choice((0, 0, 1, 3)) :]
        check_cut(text)


def test_parse_in_blocks_after_a_brace_equals_parse_as_one():
    check_cut("level x = { a: b }\nlogs;\n")
    check_cut("level x = { a: b }\n// why\n;logs;\n")
    check_cut("level x = { a: b }\nlogs;\n")


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_parse_in_blocks_of_any_text_equals_parse_as_one(text):
    check_cut(text)


def forget() -> None:
    """Clear all caches, as in a new process."""
    for module in pkgutil.walk_packages(clew.esl.__path__, "clew.esl."):
        for value in vars(importlib.import_module(module.name)).values():
            if hasattr(value, "cache_clear") and value is not grammar:
                value.cache_clear()
    fuzzy._latest.clear()


SOURCE = """
import threading
class Store:
    def __init__(self, name): self.name = name
    @property
    def size(self): return 1
    def put(self, key, value): return key
    async def fetch(self, key): return key
class Part(Store):
    def put(self, key): return key
def main(argv): return argv
"""
STATEMENTS = [
    "include standard;", "logs level DEBUG;", "logs;", "budget 3%;", "scope app.store;", "scope app.store except app.none;",
    "scope app.stor;", "send app.store:Store.put key key as jobs;", "receive app.store:Part.put key key as jobs;",
    "receive app.store:Part.put key kye as jbos;", "send app.store:Store.put key this.size;", "use app.store:main key argv;",
    "define app.store:main key argv as mian;", "payload finish app.store:Store.* value result;",
    "payload app.store:main value (argv,\n  argv) as two;", 'parameter part = "store"; scope app.$part;', "scope app.$prat;",
    "request app.store:main as one;", "request app.store:main as two;", "level component = { a: app.store, b: app.stroe };",
    "entity Store is app.store:Store {\n  watch name is this.name;\n  when finish put(key) -> position(key, name);\n}",
    "entity Store extended {\n  when finish fetch(key) -> deletion(key);\n}", "entity Other extended { watch a is this.a; }",
    "entity Part is app.store:Part unique by this.name contains Store by this.all { when start put(ky) -> deletion(ky); }",
    "scope app.** in subclasses of app.store:Store;", "scope async app.**;", "scope app.** decorated by proprety;", "scop a;",
    "/* open", "}", "scope a { b;", "// why", "send app.store:Store.put key key", "redact matching \"[\";",
]  # fmt: skip
EDITS = st.lists(
    st.tuples(
        st.sampled_from(("put in", "put in", "leave out", "alter")),
        st.integers(0, 1 << 16),
        st.sampled_from(STATEMENTS),
    ),
    min_size=1,
    max_size=8,
)


def after(lines: list[str], edit: tuple[str, int, str]) -> list[str]:
    what, number, statement = edit
    place = number % (len(lines) + 1)
    if what == "put in" or place == len(lines):
        return [*lines[:place], statement, *lines[place:]]
    if what == "leave out":
        return lines[:place] + lines[place + 1 :]
    cut = number % (len(lines[place]) + 1)
    return [*lines[:place], lines[place][:cut] + "x" + lines[place][cut + 1 :], *lines[place + 1 :]]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    (folder / "app").mkdir()
    (folder / "app/__init__.py").touch()
    (folder / "app/store.py").write_text(SOURCE)
    return folder


def shown(checked: esl.Checked) -> tuple[object, ...]:
    rules = [
        (each.rule.rule, each.rule.pattern, each.rule.span, each.functions, each.doubts) for each in checked.matches
    ]
    trees = [list(places(tree.statements)) for tree in (checked.tree, checked.meant)]
    return checked.problems, checked.plan, rules, trees, checked.notes


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(STATEMENTS), max_size=6), EDITS)
def test_check_after_edits_equals_a_first_check(workspace, lines, edits):
    path, index = workspace / "a.esl", esl.SourceIndex(workspace)
    found, texts = [], []
    forget()
    for edit in edits:
        lines = after(lines, edit)
        texts.append("\n".join(lines) + "\n")
        found.append(shown(esl.check(path, text=texts[-1], index=index)))
    for text, earlier in zip(texts, found, strict=True):
        forget()
        assert earlier == shown(esl.check(path, text=text)), text


FILES = {
    "app/store.py": (
        SOURCE,
        SOURCE.replace("return key", "pass\n\n        return key"),
        SOURCE.replace("key, value", "value, kye"),
        SOURCE.replace("Part(Store)", "Part"),
        SOURCE.replace("@property", "@cached"),
        SOURCE.replace("async ", ""),
        SOURCE + "import clew\nclew.send('jobs', 1)\nclew.use('mian', 1)\n",
        "def (",
    ),
    "app/base.py": (
        "",
        "from app.store import Store\nclass More(Store):\n    def put(self, key): pass\n",
        "class More: pass\n",
    ),
    "app/stroe.py": (
        "def main(argv): pass\n",
        "import app.base\nclass Last(app.base.More):\n    def fetch(self, key): pass\n",
    ),
}
WRITTEN = st.tuples(st.sampled_from(sorted(FILES)), st.integers(0, 7), st.sampled_from(("editor", "disk", "closed")))


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6), st.lists(WRITTEN, min_size=1, max_size=6))
def test_check_after_source_changes_equals_a_first_check(tmp_path_factory, lines, changes):
    folder = tmp_path_factory.mktemp("changed")
    (folder / "app").mkdir()
    (folder / "app/store.py").write_text(SOURCE)
    text = "\n".join([*lines, "scope app.** in subclasses of app.store:Store;", "scope app.stroe:mian;"]) + "\n"
    index, opened = esl.SourceIndex(folder), dict[str, str]()
    for second, (name, number, where) in enumerate([("app/base.py", 0, "disk"), *changes]):
        source = FILES[name][number % len(FILES[name])]
        if where == "disk":
            (folder / name).write_text(source)
            os.utime(folder / name, (second, second))  # files that are written at once may have the same time
        elif where == "editor":
            opened[name] = source
        else:
            opened.pop(name, None)
        index.overlay(folder / name, opened.get(name))
        found = shown(esl.check(folder / "a.esl", text=text, index=index))
        fresh = esl.SourceIndex(folder)
        for each, content in opened.items():
            fresh.overlay(folder / each, content)
        assert found == shown(esl.check(folder / "a.esl", text=text, index=fresh))


NAMES = st.text("abc", max_size=5)


@given(st.lists(st.tuples(NAMES, st.frozensets(NAMES, max_size=8)), min_size=1, max_size=8))
def test_fuzzy_nearest_among_changing_names_equals_a_full_search(questions):
    for word, names in questions:
        ordered = sorted(names)
        assert fuzzy.among(names).nearest(word) == nearest_of_all(word, ordered)
