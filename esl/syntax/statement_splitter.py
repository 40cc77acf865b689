"""Split a spec's text into statements before parsing, so that one bad statement cannot hide the next.

Invariant: every significant character of the text belongs to exactly one piece or one problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from clew.esl.syntax.keywords import KEYWORDS
from clew.esl.syntax.problem import EslProblem
from clew.esl.syntax.span import Lines

TOKEN = re.compile(
    r"""(?P<blank>\s+)
      | (?P<comment>//[^\n]*|\#[^\n]*|/\*.*?\*/)
      | (?P<open>/\*)
      | (?P<string>"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*')
      | (?P<word>\w+(?:\.\w+)*)
      | (?P<mark>[;{}])
      | (?P<other>[^\s\w;{}"'/\#]+|.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    kind: str
    """One of word (including dots), string, mark or other."""
    text: str
    start: int
    end: int
    first: bool
    """True if only blanks and comments precede it on its line."""


@dataclass(frozen=True)
class Piece:
    """One statement, or one line of an entity. `tokens` ends before the `;`."""

    tokens: tuple[Token, ...]
    ending: Literal[";", "}", ""]
    """The terminator; "" when it is missing."""

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end

    @property
    def word(self) -> str:
        """Return the first word, or "" if the piece begins with something else."""
        return self.tokens[0].text if self.tokens[0].kind == "word" else ""

    def cut(self, index: int) -> tuple[Piece, Piece]:
        """Split into two pieces; the second begins at the token with that index (from 1)."""
        return Piece(self.tokens[:index], ""), Piece(self.tokens[index:], self.ending)


def tokens_of(text: str, lines: Lines) -> tuple[list[Token], list[EslProblem]]:
    """Return the significant tokens, and a problem for an unclosed comment."""
    tokens: list[Token] = []
    problems: list[EslProblem] = []
    first = True
    for match in TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        start, end = match.span()
        if kind == "open":
            message = "the comment is never closed, so all text after it is ignored; end it with `*/`"
            problems.append(EslProblem("error", message, lines.span(start, start + 2)))
            break
        if kind in ("blank", "comment"):
            first = first or "\n" in match.group()
            continue
        tokens.append(Token(kind, match.group(), start, end, first))
        first = False
    return tokens, problems


def begins_statement(tokens: list[Token] | tuple[Token, ...], index: int, keywords: tuple[str, ...]) -> bool:
    """Tell whether this is a keyword followed by a blank and a possible continuation of a statement (not the `:` of a
    label)."""
    token = tokens[index]
    if token.kind != "word" or token.text not in keywords:
        return False
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    return following is None or (following.start > token.end and following.text[0] not in ":=;,})")


def pieces_of(tokens: list[Token], lines: Lines, problems: list[EslProblem]) -> Iterator[Piece]:
    """Yield statements. Each ends at its `;`, at the `}` that closes its block, or where a later line begins another
    statement and the block shows that it must. Reports stray braces."""
    index, count = 0, len(tokens)
    while index < count:
        token = tokens[index]
        if token.text == ";":
            index += 1
            continue
        if token.text == "}":
            problems.append(
                EslProblem("error", "unmatched `}`; remove it", lines.span(token.start, token.end), remove=True)
            )
            index += 1
            continue
        begin, depth, later = index, 0, 0
        ending: Literal[";", "}", ""] = ""
        stop = index
        while index < count:
            token = tokens[index]
            stop = index
            if token.first and index > begin and begins_statement(tokens, index, KEYWORDS):
                if depth:
                    break
                later = index
            if token.text == "{":
                if later:
                    # The block belongs to the statement on the later line; the first one lacks its `;`.
                    index = stop = later
                    break
                depth += 1
            elif token.text == "}":
                if not depth:
                    break
                depth -= 1
                if not depth:
                    ending, stop = "}", index + 1
                    index += 1
                    if index < count and tokens[index].text == ";":
                        ending = ";"
                        index += 1
                    break
            elif token.text == ";" and (not depth or tokens[begin].text == "level"):
                ending = ";"
                index += 1
                break
            index += 1
            stop = index
        yield Piece(tuple(tokens[begin:stop]), ending)


def members_of(tokens: tuple[Token, ...]) -> Iterator[Piece]:
    """Yield the lines of an entity, given the tokens between its braces."""
    begin = 0
    for index, token in enumerate(tokens):
        if token.text == ";":
            if index > begin:
                yield Piece(tokens[begin:index], ";")
            begin = index + 1
    if begin < len(tokens):
        yield Piece(tokens[begin:], "")
