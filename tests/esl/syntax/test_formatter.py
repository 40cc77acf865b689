"""Formatting: its result, and that it never changes the meaning of any text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.esl.syntax.formatter import format_text
from clew.esl.syntax.parser import parse
from tests.support.examples import examples
from tests.support.specs.damaged_texts import damaged

ROOT = Path(__file__).parents[3]
EXAMPLES = re.findall(r"^```esl\n(.*?)^```$", (ROOT / "docs/esl.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


def comments(text: str) -> list[str]:
    """Return the comments, found letter by letter and not by the formatter's regular expression."""
    found, place = [], 0
    while place < len(text):
        two = text[place : place + 2]
        if text[place] in "\"'":
            quote, end = text[place], place + 1
            while end < len(text) and text[end] not in (quote, "\n"):
                end += 2 if text[end] == "\\" and text[end + 1 : end + 2] not in ("", "\n") else 1
            place = end + 1 if text[end : end + 1] == quote else place + 1
        elif two == "//" or text[place] == "#":
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            found.append(text[place:end].rstrip())
            place = end
        elif two == "/*":
            end = text.find("*/", place + 2)
            if end < 0:
                return [*found, text[place:]]
            found.append(text[place : end + 2])
            place = end + 2
        else:
            place += 1
    return found


def check_meaning(text: str) -> str:
    formatted = format_text(text)
    before, after = parse(text), parse(formatted)
    assert after.tree == before.tree
    assert [problem.message for problem in after.problems] == [problem.message for problem in before.problems]
    assert format_text(formatted) == formatted
    unix = text.replace("\r\n", "\n")
    assert comments(formatted.replace("\r\n", "\n")) == comments(unix)
    return formatted


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("", ""),
        ("  scope   a . b ;", "scope   a . b ;\n"),  # no statement: blanks do not belong into a pattern
        ("include  asyncio,threads ;", "include asyncio, threads;\n"),
        ("budget 3 %; quota  512 MB keep\n newest;;", "budget 3%;\nquota 512MB keep newest;\n"),
        ("output   none ;", "output none;\n"),
        ("record   writes ;", "record writes;\n"),
        ("send a:b key ( x,y [ 0 ] . z ) as c when not x  ==-1 and len( x )>2 ;",
         "send a:b key (x, y[0].z) as c when not x == -1 and len(x) > 2;\n"),
        ("payload a:f value unsafe this . name ( 1 ,'a  b' );", "payload a:f value unsafe this.name(1, 'a  b');\n"),
        ("scope a.**   // all\nexcept b;// but\n\n\n\n# x\nlogs;",
         "scope a.**     // all\n    except b;  // but\n\n# x\nlogs;\n"),
        ("include standard; // a\nlogs level DEBUG;    // b\n",
         "include standard;  // a\nlogs level DEBUG;  // b\n"),
        ("level c={a:x,b : y.*:z,};", "level c = { a: x, b: y.*:z, };\n"),
        ("level c = { a: x, // one\n b: y };", "level c = {\n    a: x,  // one\n    b: y\n};\n"),
        ("entity A is m:A{watch n is this.n;when start f ( a : int )->position( this,a );}",
         "entity A is m:A {\n    watch n is this.n;\n    when start f(a: int) -> position(this, a);\n}\n"),
        ("entity A is m:A { // why\n\n  // first\n\n\n watch n is this.n; // last\n};\n",
         "entity A is m:A {  // why\n    // first\n\n    watch n is this.n;  // last\n}\n"),
        ("scop a ;\n   logs   level  DEBUG;", "scop a ;\nlogs level DEBUG;\n"),
        ("logs;\r\nbudget  3%;\r\n", "logs;\r\nbudget 3%;\r\n"),
        ("logs ;\n/* never\n  closed", "logs;\n/* never\n  closed"),
    ],
)  # fmt: skip
def test_format_text_of_examples(text: str, formatted: str) -> None:
    assert check_meaning(text) == formatted


def test_format_text_keeps_meaning_and_comments_of_valid_specs(specs: dict[str, str]) -> None:
    for text in [*specs.values(), *EXAMPLES]:
        assert check_meaning(text)


def test_format_text_aligns_comments_of_neighbouring_lines() -> None:
    text = "include standard; // a\nscope shop.app; // b\n\nlogs; // c\n"
    assert format_text(text) == "include standard;  // a\nscope shop.app;    // b\n\nlogs;  // c\n"


PIECES = st.sampled_from(
    "scope send level entity A is m:A watch when start key as x.y a.b:c 12 3% 'u' \" ; ; ; { } ( ) , : = -> - == // # \n \r\n "
    "/* */ /*a*/ <> \u2028 ü".split(" ")
    + [
        "scope a.b;",
        "send a:b key x as y;",
        "// c\n",
        "level c = { a: b, c: d };",
        "when start f(a) -> deletion(a);",
        "\n",
        " ",
    ]
)


@settings(max_examples=examples(300))
@given(st.lists(PIECES).map(" ".join) | st.lists(PIECES).map("".join))
def test_format_text_keeps_the_meaning_of_any_text(text: str) -> None:
    check_meaning(text)


@pytest.mark.slow
def test_format_text_keeps_the_meaning_of_every_prefix() -> None:
    for text in EXAMPLES:
        for stop in range(len(text)):
            check_meaning(text[:stop])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_format_text_keeps_the_meaning_of_damaged_specs(seed: int) -> None:
    for text in damaged(EXAMPLES, 2_500, seed):
        check_meaning(text)


def clew(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clew", "fmt", *arguments], cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_fmt_command_checks_diffs_and_writes(tmp_path: Path) -> None:
    spec = tmp_path / "a.esl"
    spec.write_bytes(b"logs  ;\r\n")
    (tmp_path / "b.esl").write_text("logs;\n")
    checked = clew(tmp_path, "--check", "--workspace", ".")
    assert (checked.returncode, checked.stdout) == (1, "a.esl: would be formatted\n1 of 2 changed\n")
    assert "+logs;" in clew(tmp_path, "--diff", "a.esl").stdout and spec.read_bytes() == b"logs  ;\r\n"
    assert clew(tmp_path, "a.esl").returncode == 0 and spec.read_bytes() == b"logs;\r\n"
    assert clew(tmp_path, "--check", "a.esl").stdout == "1 of 1 already formatted\n"
    missing = clew(tmp_path, "no.esl")
    assert missing.returncode != 0 and "the file does not exist" in missing.stderr
