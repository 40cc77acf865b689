"""Determine the context of a place in a spec: the statement, and the terminals that the grammar accepts there.

Invariant: the grammar itself answers this, so a new keyword needs no change here.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from lark import Token, UnexpectedInput
from lark.lexer import PatternStr

from clew.esl.syntax import statement_splitter
from clew.esl.syntax.keywords import CLAUSES, KEYWORDS
from clew.esl.syntax.parser import grammar
from clew.esl.syntax.problem import EslProblem
from clew.esl.syntax.span import Lines
from clew.esl.syntax.statement_splitter import Piece

_ALTERNATIVES = re.compile(r"(?:\((?P<several>[\w|]+)\)|(?P<one>\w+))")
_ANY_CLAUSE = {word for groups in CLAUSES.values() for group in groups for word in group}


@dataclass(frozen=True)
class Place:
    """The context of a place. `tokens` are those of the statement, or the entity's line, before the place, without the
    token directly before it."""

    keyword: str
    """First word of the statement, or "" where a new statement begins."""
    member: bool
    """True inside the braces of an entity."""
    tokens: tuple[Token, ...]
    accepted: frozenset[str]
    """Terminals of the grammar that can follow; empty after a syntax error."""
    start: int
    """Start offset of the statement or line."""
    head: tuple[Token, ...] = ()
    """For an entity's line, the entity's own tokens before its braces."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return the keywords that can follow."""
        found = [word for name in sorted(self.accepted) for word in words_of(name)]
        if not self.tokens and not self.member:
            found = [word for word in KEYWORDS if word in (*found, "entity")]
        if self.keyword in CLAUSES:
            own = {word for group in CLAUSES[self.keyword] for word in group}
            used = {str(token) for token in self.tokens if token.type.isupper() and str(token) in _ANY_CLAUSE}
            found = [word for word in found if word not in _ANY_CLAUSE or word in own - used]
        return tuple(dict.fromkeys(found))

    @property
    def last(self) -> str:
        """Return the terminal before the place, or "" at the beginning."""
        return self.tokens[-1].type if self.tokens else ""

    def before(self, *types: str) -> Token | None:
        """Return the last token of one of these types."""
        return next((token for token in reversed(self.tokens) if token.type in types), None)

    @property
    def pattern(self) -> Token | None:
        """Return the pattern of the statement so far."""
        return next((token for token in self.tokens if token.type == "PATTERN"), None)


@functools.cache
def words_of(terminal: str) -> tuple[str, ...]:
    """Return the keywords of a terminal: `("with ids",)`, `("start", "finish")`; none for a name, a number or a mark."""
    definition = next((each for each in grammar().terminals if each.name == terminal), None)
    if definition is None or isinstance(definition.pattern, PatternStr):
        return ()
    text = re.sub(r"\(\?!.*\)$|\\b", "", definition.pattern.value).replace(r"\s+", " ")
    parts = text.split(" ")
    if not all(_ALTERNATIVES.fullmatch(part) for part in parts):
        return ()
    found = [""]
    for part in parts:
        options = part.strip("()").split("|")
        found = [f"{lead} {option}".strip() for lead in found for option in options]
    return tuple(found)


def pieces(text: str) -> list[Piece]:
    """Split a text into statements; problems between them are ignored."""
    lines = Lines(text)
    problems: list[EslProblem] = []
    tokens, _ = statement_splitter.tokens_of(text, lines)
    return list(statement_splitter.pieces_of(tokens, lines, problems))


def is_inside_comment(text: str, offset: int) -> bool:
    """Tell whether the offset is inside a comment or a string, where no completion is offered."""
    begin = offset - len(_from_statement(text, offset))
    for match in statement_splitter.TOKEN.finditer(text, begin):
        if match.start() >= offset:
            return False
        if match.lastgroup in ("comment", "open", "string"):
            line = match.lastgroup == "comment" and match.group()[:2] != "/*"
            if offset < match.end() or (line and offset == match.end()) or match.lastgroup == "open":
                return True
    return False


def place_at(text: str, offset: int) -> Place:
    """Return the context at `offset`, which lies after the last relevant character: the word being typed is not part of
    it."""
    offset = len(text[:offset].rstrip())
    before = pieces(_from_statement(text, offset))
    base = offset - len(_from_statement(text, offset))
    if not before or before[-1].ending:
        return _place("", False, "", offset)
    piece = before[-1]
    opening = next((token for token in piece.tokens if token.text == "{"), None)
    if piece.word != "entity" or opening is None:
        return _place(piece.word, False, text[base + piece.start : offset], base + piece.start)
    head = _tokens(text[base + piece.start : base + opening.start], "entity")[0]
    inside = [token for token in piece.tokens if token.start > opening.start]
    members = list(statement_splitter.members_of(tuple(inside)))
    if not members or members[-1].ending:
        return _place("", True, "", offset, head)
    begin = base + members[-1].start
    return _place(members[-1].word, True, text[begin:offset], begin, head)


def surely_before(text: str, offset: int) -> int:
    """Return the last offset before `offset` where a statement certainly begins: a line that starts with a keyword.
    Return 0 if there is none."""
    return max((found.start() for found in _LINE.finditer(text, 0, offset)), default=0)


def _from_statement(text: str, offset: int) -> str:
    return text[surely_before(text, offset) : offset]


_LINE = re.compile(rf"^(?:{'|'.join(KEYWORDS)})(?=\s|\Z)", re.MULTILINE)


def _place(keyword: str, member: bool, text: str, start: int, head: tuple[Token, ...] = ()) -> Place:
    begin = "member" if member else "entity" if keyword == "entity" else "statement"
    tokens, accepted = _tokens(text, begin)
    return Place(keyword, member, tokens, accepted, start, head)


def _tokens(text: str, start: str) -> tuple[tuple[Token, ...], frozenset[str]]:
    """Return the grammar's tokens for the start of a statement, and the terminals accepted next."""
    found: list[Token] = []
    state = grammar().parse_interactive(text, start=start)
    try:
        found.extend(state.iter_parse())
    except UnexpectedInput:
        return tuple(found), frozenset()
    return tuple(found), frozenset(state.accepts())  # type: ignore[no-untyped-call]  # lark has no annotation here


def word_at(text: str, offset: int) -> tuple[int, int]:
    """Return the start and end of the word around, or directly before, an offset."""
    start = end = offset
    while start > 0 and _is_letter(text[start - 1]):
        start -= 1
    while end < len(text) and _is_letter(text[end]):
        end += 1
    return start, end


def _is_letter(letter: str) -> bool:
    return letter == "_" or letter.isalnum()
