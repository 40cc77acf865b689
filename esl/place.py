"""What a place in a spec is in the middle of: which statement, and what the grammar accepts there.

Invariant: the grammar itself is asked, so that a new word of the language needs nothing here.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from lark import Token, UnexpectedInput
from lark.lexer import PatternStr

from clew.esl import scan
from clew.esl.parser import grammar
from clew.esl.problem import EslProblem
from clew.esl.scan import Piece
from clew.esl.span import Lines
from clew.esl.words import CLAUSES, KEYWORDS

_ALTERNATIVES = re.compile(r"(?:\((?P<several>[\w|]+)\)|(?P<one>\w+))")
_ANY_CLAUSE = {word for groups in CLAUSES.values() for group in groups for word in group}


@dataclass(frozen=True)
class Place:
    """`tokens` are those of the statement, or the entity's line, before the place, without what stands directly before it."""

    keyword: str
    """The statement's first word, "" where a new one begins."""
    member: bool
    """In the braces of an entity."""
    tokens: tuple[Token, ...]
    accepted: frozenset[str]
    """The grammar's terminals that can follow; none where what stands before is wrong."""
    start: int
    """Of the statement, or line, in the text."""
    head: tuple[Token, ...] = ()
    """Of an entity's line, the entity's own tokens before its braces."""

    @property
    def words(self) -> tuple[str, ...]:
        """Keywords that can follow."""
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
        """The terminal before the place, "" at the beginning."""
        return self.tokens[-1].type if self.tokens else ""

    def before(self, *types: str) -> Token | None:
        """The last token of one of these types."""
        return next((token for token in reversed(self.tokens) if token.type in types), None)

    @property
    def pattern(self) -> Token | None:
        """The pattern that the statement has been about so far."""
        return next((token for token in self.tokens if token.type == "PATTERN"), None)


@functools.cache
def words_of(terminal: str) -> tuple[str, ...]:
    """The keywords that a terminal stands for: `("with ids",)`, `("start", "finish")`; none for a name, a number, a mark."""
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
    """The statements of a text; what is wrong between them does not matter here."""
    lines = Lines(text)
    problems: list[EslProblem] = []
    tokens, _ = scan.tokens_of(text, lines)
    return list(scan.pieces_of(tokens, lines, problems))


def is_inside_comment(text: str, offset: int) -> bool:
    """Or inside a string, which nobody completes."""
    begin = offset - len(_from_statement(text, offset))
    for match in scan.TOKEN.finditer(text, begin):
        if match.start() >= offset:
            return False
        if match.lastgroup in ("comment", "open", "string"):
            line = match.lastgroup == "comment" and match.group()[:2] != "/*"
            if offset < match.end() or (line and offset == match.end()) or match.lastgroup == "open":
                return True
    return False


def place_at(text: str, offset: int) -> Place:
    """`offset` is behind the last character that counts: what is being typed is not part of it."""
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
    members = list(scan.members_of(tuple(inside)))
    if not members or members[-1].ending:
        return _place("", True, "", offset, head)
    begin = base + members[-1].start
    return _place(members[-1].word, True, text[begin:offset], begin, head)


def surely_before(text: str, offset: int) -> int:
    """The last place before the offset where a statement surely begins: a line with one of its words at its very beginning.
    0 where there is none."""
    return max((found.start() for found in _LINE.finditer(text, 0, offset)), default=0)


def _from_statement(text: str, offset: int) -> str:
    return text[surely_before(text, offset) : offset]


_LINE = re.compile(rf"^(?:{'|'.join(KEYWORDS)})(?=\s|\Z)", re.MULTILINE)


def _place(keyword: str, member: bool, text: str, start: int, head: tuple[Token, ...] = ()) -> Place:
    begin = "member" if member else "entity" if keyword == "entity" else "statement"
    tokens, accepted = _tokens(text, begin)
    return Place(keyword, member, tokens, accepted, start, head)


def _tokens(text: str, start: str) -> tuple[tuple[Token, ...], frozenset[str]]:
    """What the grammar reads of a beginning, and what it accepts behind it."""
    found: list[Token] = []
    state = grammar().parse_interactive(text, start=start)
    try:
        found.extend(state.iter_parse())
    except UnexpectedInput:
        return tuple(found), frozenset()
    return tuple(found), frozenset(state.accepts())  # type: ignore[no-untyped-call]  # lark has no annotation here


def word_at(text: str, offset: int) -> tuple[int, int]:
    """Where the word around, or directly before, an offset begins and ends."""
    start = end = offset
    while start > 0 and _is_letter(text[start - 1]):
        start -= 1
    while end < len(text) and _is_letter(text[end]):
        end += 1
    return start, end


def _is_letter(letter: str) -> bool:
    return letter == "_" or letter.isalnum()
