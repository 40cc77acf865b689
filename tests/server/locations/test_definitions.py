import inspect
import textwrap
import types

from hypothesis import given
from hypothesis import strategies as st

from clew.records.plan.match import plain_qualname
from clew.server.locations.definitions import around, current, outline

SOURCE = textwrap.dedent(
    """
    import functools


    def plain():
        return lambda x: x + 1


    class Box:
        @property
        def size(self):
            return 1

        @size.setter
        def size(self, value):
            def inner():
                return value

            inner()

        @functools.cache
        async def fetch(
            self,
        ):
            yield 1
    """
)


def functions_of(code):
    """Yield qualified names and first lines as the interpreter has them (the oracle)."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if (
                not constant.co_name.startswith("<")
                and constant.co_flags & inspect.CO_NEWLOCALS
                and constant.co_flags & inspect.CO_OPTIMIZED
            ):
                yield plain_qualname(constant.co_qualname), constant.co_firstlineno
            yield from functions_of(constant)


def test_outline_has_every_function_where_the_interpreter_has_it():
    expected = sorted(functions_of(compile(SOURCE, "x", "exec")))
    found = outline(SOURCE)
    assert sorted((d.qualname, d.first_line) for ds in found.values() for d in ds if "<" not in d.qualname) == expected
    assert [d.qualname for d in found["plain.<lambda>"]] == ["plain.<lambda>"]


def test_current_definition_of_moved_function_is_found_by_name():
    moved = "# new\n# lines\n" + SOURCE
    before = current(outline(SOURCE), "plain", 5)
    assert current(outline(moved), "plain", before.first_line).line == before.line + 2


def test_current_definition_among_two_of_one_name_is_the_nearest():
    getter, setter = outline(SOURCE)["Box.size"]
    assert current(outline(SOURCE), "Box.size", getter.first_line) == getter
    assert current(outline(SOURCE), "Box.size", setter.first_line) == setter


def test_current_definition_of_local_function_is_found_by_runtime_name():
    assert current(outline(SOURCE), "Box.size.<locals>.inner", 16).qualname == "Box.size.inner"


def test_around_line_lists_functions_from_the_innermost():
    found = outline(SOURCE)
    inner = found["Box.size.inner"][0]
    assert [one.qualname for one in around(found, inner.line)] == ["Box.size.inner", "Box.size"]
    assert [one.qualname for one in around(found, inner.end_line + 2)] == ["Box.size"]
    assert around(found, 1) == []


def test_current_definition_of_removed_function_is_missing():
    assert current(outline(SOURCE), "gone", 3) is None


def test_outline_of_text_that_does_not_parse_is_missing():
    assert outline("def f(:\n") is None
    assert outline("x = '\0'") is None
    assert current(None, "f", 1) is None


@given(st.text())
def test_outline_accepts_any_text(text):
    outline(text)
