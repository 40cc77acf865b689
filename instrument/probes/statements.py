"""SQL without the values that stand in it: what a statement is, not whom it is about.

Invariant: when in doubt a text is hidden. A text in double quotes is a literal to some databases, so it stays only beside a dot
or where a table is named; behind a quote that a backslash may have escaped, which only some databases mean, nothing stays.
"""

from __future__ import annotations

import functools
import re
from typing import Any

_MOST = 4000
"""Characters that are looked at: more than is ever recorded."""
_MOST_KEPT = 200
"""Programs say the same statements again and again."""
_PARTS = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) | \#\s[^\n]* )
    | (?P<text> '(?:[^']|'')*(?:'|\Z) | (?P<dollar>\$\w*\$).*?(?:(?P=dollar)|\Z) )
    | (?P<name> (?<=\.)"\w+" | "\w+"(?=\s*\.)
        | (?:(?<=into\s)|(?<=join\s)|(?<=table\s)|(?<=update\s)|(?<=from\s)) "\w+" (?!\s*\)) )
    | (?P<quoted> "[^"]*(?:"|\Z) )
    | (?P<number> (?<![\w$:?@`.]) (?:\d|\.\d) [\w.]* (?:(?<=[eE])[+-]\d+)? )
    | (?P<plain> `[^`]*(?:`|\Z) | \[\w+\] )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\['\"]")
_MANY = re.compile(r"\?(?:\s*,\s*\?)+")
_BLANKS = re.compile(r"\s+")


def without_literals(statement: Any) -> str:
    """A statement of SQL with `?` for its strings and numbers, without comments. Raises `TypeError` for what is no str."""
    if type(statement) is not str:
        raise TypeError("a statement is a str")
    return _shown_of(statement[:_MOST])


@functools.lru_cache(_MOST_KEPT)
def _shown_of(text: str) -> str:
    end = ""
    escaped = _ESCAPED.search(text)
    if escaped is not None:
        quote = min(place for place in (text.find("'"), text.find('"'), escaped.start()) if place >= 0)
        text, end = text[:quote], "? …"
    text = _PARTS.sub(_shown, text) + end
    return _MANY.sub("?, …", _BLANKS.sub(" ", text)).strip()


def _shown(part: re.Match[str]) -> str:
    match part.lastgroup:
        case "name" | "plain":
            return part[0]
        case "comment":
            return " "
    return "?"
