"""Edits of functions are found by their code."""

from __future__ import annotations

import textwrap

from clew.compare.failures.source_changes import parts

BEFORE = """
LIMIT = 3

class Cart:
    rate = 1

    @property
    def total(self):
        def each(item):
            return item * 2
        return sum(map(each, self.items))

    async def load(self):
        return [x for x in self.items]
"""


def edited(before: str, after: str) -> set[str]:
    old, new = parts(textwrap.dedent(before)), parts(textwrap.dedent(after))
    return {name for name in {*old, *new} if old.get(name) != new.get(name)}


def test_parts_comments_and_layout_are_no_edit():
    assert edited(BEFORE, "# new\n\n" + BEFORE.replace("item * 2", "(item\n                * 2)  # twice")) == set()


def test_parts_edit_belongs_to_the_innermost_function():
    assert edited(BEFORE, BEFORE.replace("* 2", "* 3")) == {"Cart.total.<locals>.each"}
    assert edited(BEFORE, BEFORE.replace("sum(", "max(")) == {"Cart.total"}
    assert edited(BEFORE, BEFORE.replace("@property", "@cached_property")) == {"Cart.total"}
    assert edited(BEFORE, BEFORE.replace("[x for", "[-x for")) == {"Cart.load"}


def test_parts_edit_outside_of_functions_is_the_modules():
    assert edited(BEFORE, BEFORE.replace("LIMIT = 3", "LIMIT = 4")) == {"<module>"}
    assert edited(BEFORE, BEFORE.replace("rate = 1", "rate = 2")) == {"<module>"}


def test_parts_new_function_is_an_edit_of_it_and_of_its_scope():
    assert edited(BEFORE, BEFORE + "\ndef new():\n    pass\n") == {"new", "<module>"}


def test_parts_text_that_does_not_parse_has_none():
    assert parts("def f(:") is None
    assert parts("(" * 10_000) is None
    assert parts("\0") is None
