"""Classify each word of a spec for an editor's colours: keyword, module, function, parameter, channel, ….

Invariant: tokens are ordered and never overlap. A statement with an error has tokens up to the error.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator

from lark import Token, UnexpectedInput

from clew.esl.assist.cursor_context import words_of
from clew.esl.lower import expressions
from clew.esl.syntax import statement_splitter
from clew.esl.syntax.parser import grammar
from clew.esl.syntax.span import Lines
from clew.esl.syntax.statement_splitter import Piece

_OPERATORS = frozenset(("COMPARE", "PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "__ANON_0", "EQUAL"))
_PARTS = re.compile(r"[^.:]+")

Classified = tuple[int, int, str, str]
"""Start, end, type, and a modifier or ""."""


def tokens_of(text: str, begin: int = 0, stop: int | None = None) -> Iterator[Classified]:
    """Yield the tokens of statements and comments between two offsets, in order."""
    stop = len(text) if stop is None else stop
    lines = Lines(text)
    tokens, _ = statement_splitter.tokens_of(text, lines)
    found: list[Classified] = []
    for piece in statement_splitter.pieces_of(tokens, lines, []):
        if piece.end >= begin and piece.start <= stop:
            found += _of_piece(text, piece)
    for match in statement_splitter.TOKEN.finditer(text):
        if match.lastgroup in ("comment", "open") and match.end() >= begin and match.start() <= stop:
            end = len(text) if match.lastgroup == "open" else match.end()
            found.append((match.start(), end, "comment", ""))
            if match.lastgroup == "open":
                break
    yield from sorted(found)


def _of_piece(text: str, piece: Piece) -> Iterator[Classified]:
    opening = next((token for token in piece.tokens if token.text == "{"), None)
    if piece.word != "entity" or opening is None:
        yield from _moved(text, piece.start, piece.end, "entity" if piece.word == "entity" else "statement")
        return
    yield from _moved(text, piece.start, opening.start, "entity")
    inside = tuple(token for token in piece.tokens if token.start > opening.start)
    if inside and inside[-1].text == "}":
        inside = inside[:-1]
    for member in statement_splitter.members_of(inside):
        yield from _moved(text, member.start, member.end, "member")


def _moved(text: str, start: int, end: int, what: str) -> Iterator[Classified]:
    for first, last, kind, modifier in _classified(text[start:end], what):
        yield first + start, last + start, kind, modifier


@functools.lru_cache(maxsize=8192)
def _classified(text: str, what: str) -> tuple[Classified, ...]:
    """Classify one statement. Cached because an editor requests all tokens at every keystroke."""
    tokens: list[Token] = []
    with contextlib.suppress(UnexpectedInput):
        tokens.extend(grammar().parse_interactive(text, start=what).iter_parse())
    return tuple(_classify(tokens, what))


def _classify(tokens: list[Token], what: str) -> Iterator[Classified]:
    for number, token in enumerate(tokens):
        before = tokens[number - 1] if number else None
        after = tokens[number + 1].type if number + 1 < len(tokens) else ""
        start, end = token.start_pos or 0, token.end_pos or 0
        if words_of(token.type):
            yield start, end, "keyword", ""
        elif token.type == "PATTERN":
            yield from _pattern(token, what, after)
        elif token.type == "NUMBER":
            yield start, end, "number", ""
        elif token.type in _OPERATORS:
            yield start, end, "operator", ""
        elif token.type == "SETTING":
            yield start, end, "variable", "readonly"
        elif token.type in ("NAME", "DOTTED", "STRING"):
            kind, modifier = _name(tokens, number, before, after, what)
            yield start, end, kind, modifier


def _pattern(token: Token, what: str, after: str) -> Iterator[Classified]:
    start = token.start_pos or 0
    module, colon, qualname = str(token).partition(":")
    if what == "member":
        yield start, token.end_pos or 0, "method", ""
        return
    yield start, start + len(module), "namespace", ""
    parts = list(_PARTS.finditer(qualname)) if colon else []
    base = start + len(module) + 1
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        kind = "class" if what == "entity" or not last else "method" if len(parts) > 1 else "function"
        yield base + part.start(), base + part.end(), kind, ""


def _name(tokens: list[Token], number: int, before: Token | None, after: str, what: str) -> tuple[str, str]:
    token, last = tokens[number], before.type if before else ""
    first = tokens[0].type
    if last == "AS":
        return "enumMember", "declaration"
    if last == "_ENTITY":
        return "class", "declaration"
    if last == "_WATCH":
        return "variable", "declaration"
    if last == "_PARAMETER":
        return "variable", "declaration"
    if last == "CONTAINS":
        return "class", ""
    if last == "_LEVEL":
        return ("enumMember", "") if first == "_LOGS" else ("enum", "declaration")
    if first == "_LEVEL" and after == "COLON":
        return "enumMember", "declaration"
    if first == "_INCLUDE" and token.type == "NAME":
        return ("parameter", "") if after == "EQUAL" else ("namespace", "defaultLibrary")
    if last == "__ANON_0":
        return "event", "defaultLibrary"
    if token.type == "STRING":
        return "string", ""
    if what == "member" and last in ("COLON", "LSQB") and not _after_arrow(tokens, number):
        return "type", ""
    if last == "DOT":
        return ("method", "") if after == "LPAR" else ("property", "")
    if str(token) in (expressions.THIS, *expressions.AT_FINISH):
        return "variable", "defaultLibrary"
    if after == "LPAR":
        return "function", "defaultLibrary"
    if first == "_QUOTA" or _is_unit(tokens, number):
        return "keyword", ""
    return "parameter", ""


def _is_unit(tokens: list[Token], number: int) -> bool:
    """Tell whether the name at that index is the unit of `at most 10/s`."""
    return number > 2 and tokens[number - 3].type == "AT_MOST" and tokens[number - 1].type == "SLASH"


def _after_arrow(tokens: list[Token], number: int) -> bool:
    return any(token.type == "__ANON_0" for token in tokens[:number])
