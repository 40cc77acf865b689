"""The help on a keyword at its place: a keyword with several meanings is explained by the one that applies there."""

from __future__ import annotations

import pytest

from clew.esl.assist import hover


def said(marked: str) -> str:
    before, _, after = marked.partition("|")
    return hover.about_word(before + after, len(before))[0]


@pytest.mark.parametrize(
    ("marked", "begins"),
    [
        # `in` of a value, of a filter by classes, and of a filter by subclasses.
        ('payload a:b value x |in ("a", "b");', "`==` `!=` `<`"),
        ("payload a:b value not x |in y;", "`==` `!=` `<`"),
        ("entity A is a:B { when finish m(a) on a |in b -> position(this); }", "`==` `!=` `<`"),
        ("scope a |in a:B or subclasses;", "`in MODULE:CLASS, … or subclasses`"),
        ("scope a in a:B |or subclasses;", "`in MODULE:CLASS, … or subclasses`"),
        ("scope a |in subclasses of a:B;", "`in subclasses of MODULE:CLASS, …`"),
        ("scope a in |subclasses of a:B;", "`in subclasses of MODULE:CLASS, …`"),
        ("payload a:b value x |is not y;", "`==` `!=` `<`"),
        ("entity A |is a:B {}", "**`entity`"),
        ("payload a:b value x |or unsafe y.z();", "`+` `-` `*`"),
        ("payload a:b value x or |unsafe y.z();", "`unsafe a.name()`"),
        # `when` of a statement, and of a line of an entity.
        ("payload a:b value x |when y;", "`when`: only if"),
        ("entity A is a:B { |when finish m() -> position(this); }", "`when start|finish METHOD"),
        ("entity A is a:B { when finish m() -> |position(this); }", "`position(entity)` creates"),
        ("entity A is a:B { |watch n is this.x; }", "`watch NAME is VALUE;`"),
        ("|entity A is a:B {}", "**`entity`"),
        # `as` of a channel, of a payload, of a request, of headers.
        ("send a:b key x |as y;", "`as` names the channel"),
        ("define a:b key x |as y;", "`as` names the channel"),
        ("payload a:b value x |as y;", "Records a value at the call, under the name after `as`"),
        ("request a:b |as y;", "**`request`"),
        ("inject a:b into x |as y;", "`as` gives another name"),
        ("payload a:b value x |at most 3/s;", "`at most 100/s`"),
        ("logs level INFO |with ids;", "`logs` captures log lines"),
        ("quota 3MB |keep newest;", "`quota` limits what a process may keep"),
        ("output |none;", "`output` with `none` leaves out"),
        ("resource |taken a:b as c;", "`taken` names the calls"),
        ("resource taken a:b |item this as c;", "`item` identifies the slot"),
        ("resource taken a:b item this |capacity 3 as c;", "`capacity` is the number"),
        ("logs |level INFO;", "`logs` captures log lines"),
        ("|level a = { b: c };", "**`level`"),
    ],
)
def test_keyword_help_depends_on_the_meaning_at_the_place(marked: str, begins: str) -> None:
    assert said(marked).replace("\\|", "|").startswith(begins)
