"""Syntax of other languages is a problem that proposes the right form, and a quick fix applies it."""

from __future__ import annotations

import pytest

from clew.esl import compile_text
from clew.esl.checker.quick_fixes import fix_of
from clew.esl.syntax.problem import EslProblem


def problems(text: str) -> tuple[EslProblem, ...]:
    return compile_text(text, workspace="/").problems


@pytest.mark.parametrize(
    ("text", "message", "mended"),
    [
        ("payload a:f value x when x = 3;", "`=` is not expected here; write `==`", "payload a:f value x when x == 3;"),
        (
            "payload a:f value x when x && y;",
            "`&&` is not expected here; write `and`",
            "payload a:f value x when x and y;",
        ),
        ("payload a:f value x || y;", "`||` is not expected here; write `or`", "payload a:f value x or y;"),
        (
            "request a:f as “one order”;",
            "`“` is not expected here; use straight quotes around a text",
            'request a:f as "one order";',
        ),
        (
            "scope ./shop/app.py;",
            "`./shop/app.py` is a path; write the module with dots: `shop.app`",
            "scope shop.app;",
        ),
        ("scope shop\\app.py;", "`shop\\app.py` is a path; write the module with dots: `shop.app`", "scope shop.app;"),
        (
            "send a:f key x as my channel;",
            '`channel` is not expected here; write a name of several words in quotes: `"my channel"`',
            'send a:f key x as "my channel";',
        ),
        (
            "include './more.esl';",
            "`include` takes names of packs; copy the statements of another spec here instead",
            "",
        ),
        ("include more/more.esl;", "`include` takes names of packs;", ""),
        (
            "payload a:f value x if y;",
            "`if` is not expected here; a condition begins with `when`",
            "payload a:f value x when y;",
        ),
        (
            "payload a:f value x at most 100;",
            "a rate is a number and a unit; write `100/s`, `100/min` or `100/h`",
            "payload a:f value x at most 100/s;",
        ),
        (
            "payload a:f value x at most 100 when y;",
            "a rate is a number and a unit; write `100/s`, `100/min` or `100/h`",
            "payload a:f value x at most 100/s when y;",
        ),
        (
            "scope decorated by app.route;",
            "`decorated by` follows a pattern; write `scope package.** decorated by NAME`",
            "",
        ),
        (
            "request in subclasses of shop:Handler;",
            "`in subclasses` follows a pattern; write `request package.** in subclasses of package.module:Class`",
            "",
        ),
        (
            "scope a subclasses of b:C;",
            "`subclasses` is not expected here; did you mean `in subclasses of`?",
            "scope a in subclasses of b:C;",
        ),
        (
            "scope a decorted by b;",
            "`decorted` is not expected here; did you mean `decorated by`?",
            "scope a decorated by b;",
        ),
        ("payload a:f x.y;", "`value` is missing before `x.y`; write `value x.y`", "payload a:f value x.y;"),
        ("send a:f x;", "`key` is missing before `x`; write `key x`", "send a:f key x;"),
        ("extract a:f x.y;", "`from` is missing before `x.y`; write `from x.y`", "extract a:f from x.y;"),
        ('request a:f "an order";', '`as` is missing before `"an order"`', 'request a:f as "an order";'),
        ("logs ERROR;", "`level` is missing before `ERROR`; write `level ERROR`", "logs level ERROR;"),
        ("SCOPE a;", "`SCOPE` does not begin a statement; did you mean `scope`?", "scope a;"),
        ("scope a::f;", "write one `:` between module and function: `package.module:function`", "scope a:f;"),
        ("scope a:;", "write the name of a function after `:`: `package.module:function`", ""),
        ("scope a:f();", "write a pattern without brackets: `a:f`", "scope a:f;"),
        ("scope a:f(x);", "write a pattern without brackets: `a:f`", ""),
        ("payload a:f value [x, y];", "`[` is not expected here; write several values as a tuple: `(a, b)`", ""),
        (
            'request a:f as f"order {item}";',
            'string prefixes are not supported; write a computed name in brackets: `("item " + str(item))`',
            "",
        ),
    ],
)
def test_quick_fix_of_foreign_syntax_mends_the_text(text: str, message: str, mended: str) -> None:
    found = [each for each in problems(text) if each.severity == "error"]
    assert found[0].message.startswith(message)
    fix = fix_of(found[0], text)
    if not mended:
        assert fix is None
        return
    assert fix is not None
    assert text[: fix.start] + fix.text + text[fix.end :] == mended
    assert [each for each in problems(mended) if each.severity == "error"] == []


def test_invisible_character_is_reported_by_its_number() -> None:
    assert problems("\0;")[0].message.startswith("`\\x00` does not begin a statement")


def test_right_spec_has_no_quick_fix() -> None:
    for text in (
        "payload a:f value x / y;",
        "payload a:f value x[0];",
        'redact matching "[0-9]";',
        "inject a:f into x as y;",
    ):
        assert [each for each in problems(text) if each.severity == "error"] == [], text
