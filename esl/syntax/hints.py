"""Recognize syntax of other languages and common mistakes, and suggest the correct form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from clew.esl.syntax.keywords import CLAUSES, LOG_LEVELS, NAMING
from clew.esl.syntax.statement_splitter import Piece

_OPERATORS = {"&&": "and", "||": "or", "!": "not", "=": "==", "===": "==", "!==": "!="}
_FILTERS = {
    "decorated by": "package.** decorated by NAME",
    "in subclasses": "package.** in subclasses of package.module:Class",
}
"""Filters that users write in the place of a pattern, with their correct form."""
_QUOTES = {"“": "”", "”": "”", "„": "“", "‘": "’", "’": "’", "«": "»"}
_PATTERN_BEFORE = re.compile(r"[\w.*?:<>$]+\Z")
_NOTHING_IN_BRACKETS = re.compile(r"\(\s*\)")
_PATH = re.compile(r"[\w./\\-]*[/\\][\w./\\-]*")


class Slip(NamedTuple):
    message: str
    start: int
    end: int
    """End of the text that `fix`, if any, replaces."""
    fix: str = ""


def slip_of(text: str, piece: Piece, start: int, found: str, in_value: bool) -> Slip | None:
    """Return what was probably meant by `found`, which is at `start` and which the grammar does not expect there.
    `in_value` is true where an operator could follow."""
    end = start + len(found)
    before = [token for token in piece.tokens if token.start < start]
    if in_value and found in _OPERATORS:
        return Slip(f"`{found}` is not expected here; write `{_OPERATORS[found]}`", start, end, _OPERATORS[found])
    if found[0] in _QUOTES:
        closing = text.find(_QUOTES[found[0]], start + 1, piece.end)
        message = f"`{found[0]}` is not expected here; use straight quotes around a text"
        if closing < 0 or "\n" in text[start:closing] or '"' in text[start:closing]:
            return Slip(message, start, start + 1)
        return Slip(message, start, closing + 1, f'"{text[start + 1 : closing]}"')
    if piece.word == "include" and (found[0] in "\"'./" or ".esl" in found):
        return Slip("`include` takes names of packs; copy the statements of another spec here instead", start, end)
    if found[0] in "\"'" and before and before[-1].end == start and before[-1].text.lower() in ("f", "r", "b"):
        message = 'string prefixes are not supported; write a computed name in brackets: `("item " + str(item))`'
        return Slip(message, before[-1].start, end)
    if found[0] in "./\\" and not in_value and (path := _path_around(text, piece, start)):
        module = path[0].removeprefix("./").removesuffix(".py").strip("/\\").replace("/", ".").replace("\\", ".")
        fix = module if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", module) else ""
        hint = f": `{fix}`" if fix else ""
        return Slip(f"`{path[0]}` is a path; write the module with dots{hint}", path.start(), path.end(), fix)
    if found.isidentifier() and len(before) > 1 and before[-1].text.isidentifier() and before[-2].text == "as":
        name = f'"{before[-1].text} {found}"'
        message = f"`{found}` is not expected here; write a name of several words in quotes: `{name}`"
        return Slip(message, before[-1].start, end, name)
    if found == "if" and in_value and piece.word != "entity":
        return Slip("`if` is not expected here; a condition begins with `when`", start, end, "when")
    touches = bool(before) and before[-1].end == start and not in_value
    if touches and found in ("::", ":"):
        named = "package.module:function"
        if found == "::":
            return Slip(f"write one `:` between module and function: `{named}`", start, end, ":")
        return Slip(f"write the name of a function after `:`: `{named}`", start, end)
    if touches and found[0] == "(" and piece.word != "include":
        pattern = _PATTERN_BEFORE.search(text[piece.start : start])
        brackets = _NOTHING_IN_BRACKETS.match(text, start)
        if pattern is not None:
            message = f"write a pattern without brackets: `{pattern[0]}`"
            begin, fix = piece.start + pattern.start(), pattern[0] if brackets is not None else ""
            return Slip(message, begin, brackets.end() if brackets is not None else end, fix)
    if found[0] == "[" and not in_value:
        return Slip("`[` is not expected here; write several values as a tuple: `(a, b)`", start, start + 1)
    return None


def word_before(piece: Piece, start: int, found: str, expected: Sequence[str]) -> Slip | None:
    """Return the mandatory word that is missing at `start`; `expected` are the keywords accepted there."""
    if piece.word == "logs":
        missing = "level" if found.upper() in LOG_LEVELS else ""
    else:
        required, optional = CLAUSES.get(piece.word, ((), ()))
        missing = required[0] if required else "as" if piece.word in NAMING and "as" in optional else ""
    if missing not in expected or not (found.replace(".", "").isidentifier() or found[0] in "\"'"):
        return None
    return Slip(f"`{missing}` is missing before `{found}`; write `{missing} {found}`", start, start, f"{missing} ")


def filter_alone(piece: Piece, start: int, found: str) -> Slip | None:
    """Return the hint for a filter in the place of its pattern; `found` is the filter's second word."""
    before = [token for token in piece.tokens if token.start < start]
    if len(before) != 2 or (several := f"{before[1].text} {found}") not in _FILTERS:
        return None
    message = f"`{several}` follows a pattern; write `{before[0].text} {_FILTERS[several]}`"
    return Slip(message, before[1].start, start + len(found))


def _path_around(text: str, piece: Piece, place: int) -> re.Match[str] | None:
    return next(
        (each for each in _PATH.finditer(text, piece.start, piece.end) if each.start() <= place < each.end()), None
    )
