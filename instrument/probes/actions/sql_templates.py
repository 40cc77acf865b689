"""Remove values from SQL statements: keep the statement, not the data.

Invariant: an uncertain text is hidden. A double-quoted text is a literal in some databases, so it remains only next to a
dot or in the position of a table name. After a quote that a backslash may have escaped, which only some databases support,
the rest is hidden.
"""

from __future__ import annotations

import functools
import re
from typing import Any

_MOST = 4000
"""Maximum characters that are read, more than is ever recorded."""
_MOST_KEPT = 200
"""Maximum number of cached results, because programs repeat the same statements."""
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
    """Return an SQL statement with `?` for its strings and numbers, without comments.

    Raises `TypeError` for other types than str.
    """
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
