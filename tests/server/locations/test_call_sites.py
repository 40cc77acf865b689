"""Where a text calls what, against texts in which it is marked."""

import pytest

from clew.server.locations.call_sites import calls_of, name_at
from clew.server.locations.definitions import outline


def found(text, caller, callee, way="call"):
    """The marked text with what was found in brackets."""
    lines = text.split("\n")
    for line, start, end in sorted(calls_of(text, outline(text)[caller][0], callee, way), reverse=True):
        units = lines[line - 1].encode("utf-16-le")
        parts = units[: 2 * start], units[2 * start : 2 * end], units[2 * end :]
        before, name, after = (part.decode("utf-16-le") for part in parts)
        lines[line - 1] = f"{before}[{name}]{after}"
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("marked", "callee", "way"),
    [
        ("def f():\n    return [g](1) + [g](2)", "g", "call"),
        ("def f(self):\n    self.a.[g]([g](1))", "C.g", "call"),
        ("async def f():\n    await [g]()", "g", "call"),
        # What is only named is not called, unless it is called nowhere (a property, say).
        ("def f():\n    g = 1\n    [g]()", "g", "call"),
        ("def f(x):\n    return x.[g]", "C.g", "call"),
        ("def f():\n    return [C](1)", "C.__init__", "call"),
        # A nested function's calls are its own; those of a comprehension are not.
        ("def f():\n    def h():\n        g()\n    return {[g](x) for x in y}", "g", "call"),
        ("def f():\n    '𝕏é'; [g]()", "g", "call"),
        ("def f():\n    return (\n        a\n        .[g]\n    )()", "g", "call"),
        # Its own decorators and defaults are not its body.
        ("@g\ndef f(x=g()):\n    [g]()", "g", "call"),
        ("def f():\n    Thread(target=[g]).start()", "g", "thread"),
        ("def f(t):\n    t.[start]()\n    asyncio.run(1)", "T.run", "thread"),
        ("def f(p):\n    p.[submit](work, 1)", "g", "executor"),
        ("def f():\n    create_task([g](1))", "g", "task"),
        ("def f(q):\n    q.[put](1)\n    q.get()", "worker", "queue"),
        ("def f(q):\n    q.put(1)", "worker", "a channel of a spec"),
        ("def f(x):\n    x()", "C.__call__", "call"),
        ("def f(n):\n    return [f](n - 1)", "f", "call"),
        ("def f():\n    return [g]()", "outer.<locals>.g", "call"),
    ],
)
def test_calls_are_found_where_they_are_marked(marked, callee, way):
    text = marked
    for name in ("g", "C", "start", "submit", "put", "f"):
        text = text.replace(f"[{name}]", name)
    assert found(text, "f", callee, way) == marked


def test_a_text_that_does_not_parse_has_no_calls():
    definition = outline("def f():\n    g()")["f"][0]
    assert calls_of("def f(:\n    g()", definition, "g", "call") == []
    assert name_at("def f(:\n    g()", 2, 5) == ""


def test_the_name_at_a_place_is_the_one_that_stands_there():
    text = "def f(self):\n    self.first.second(third)\n"
    assert [name_at(text, 2, column) for column in (5, 10, 16, 24)] == ["self", "first", "second", "third"]
    assert name_at(text, 2, 0) == name_at(text, 1, 5) == name_at(text, 9, 1) == ""
