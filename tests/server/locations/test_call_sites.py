"""The places of calls in a text, compared with texts in which they are marked."""

import pytest

from clew.server.locations.call_sites import calls_of, name_at
from clew.server.locations.definitions import outline


def found(text, caller, callee, way="call"):
    """Return the text with every call that was found in brackets."""
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
        # A name without a call counts only if the function is called nowhere (a property, for example).
        ("def f():\n    g = 1\n    [g]()", "g", "call"),
        ("def f(x):\n    return x.[g]", "C.g", "call"),
        ("def f():\n    return [C](1)", "C.__init__", "call"),
        # A nested function's calls are its own; those of a comprehension are not.
        ("def f():\n    def h():\n        g()\n    return {[g](x) for x in y}", "g", "call"),
        ("def f():\n    '𝕏é'; [g]()", "g", "call"),
        ("def f():\n    return (\n        a\n        .[g]\n    )()", "g", "call"),
        # The decorators and defaults of a function are not its body.
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
def test_calls_of_finds_exactly_the_marked_calls(marked, callee, way):
    text = marked
    for name in ("g", "C", "start", "submit", "put", "f"):
        text = text.replace(f"[{name}]", name)
    assert found(text, "f", callee, way) == marked


def test_calls_of_text_that_does_not_parse_is_empty():
    definition = outline("def f():\n    g()")["f"][0]
    assert calls_of("def f(:\n    g()", definition, "g", "call") == []
    assert name_at("def f(:\n    g()", 2, 5) == ""


def test_name_at_position_is_the_name_under_it():
    text = "def f(self):\n    self.first.second(third)\n"
    assert [name_at(text, 2, column) for column in (5, 10, 16, 24)] == ["self", "first", "second", "third"]
    assert name_at(text, 2, 0) == name_at(text, 1, 5) == name_at(text, 9, 1) == ""
