"""Split a spec's text into blocks that can be parsed separately, and cache the result of each.

Invariant: a block consists of whole lines, and its meaning depends only on its text. A keystroke costs parsing its
block; all other blocks only move.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from clew.esl.syntax.ast import Unit
from clew.esl.syntax.keywords import KEYWORDS
from clew.esl.syntax.problem import EslProblem
from clew.esl.syntax.statement_splitter import TOKEN

MOST = 20_000
"""Maximum number of cached first lines; a spec of thousands of lines is checked as fast as one of a hundred."""
ALIKE = 8
"""Maximum number of cached blocks with the same first line."""

_BLANKS = re.compile(r"(?:\s++|//[^\n]*+|\#[^\n]*+|/\*(?:(?!\*/).)*+\*/)*+", re.DOTALL)
_REST = re.compile(r"(?:[^\S\n]++|//[^\n]*+|\#[^\n]*+|/\*(?:(?!\*/)[^\n])*+\*/)*+(?:\n|\Z)")
"""Blanks and comments up to the end of the line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block; spans count from its beginning."""

    text: str
    units: tuple[Unit, ...]
    problems: tuple[EslProblem, ...]
    lines: int
    ending: str
    """The end `;` or `}`, or "" when the text ends first."""


class Placed(NamedTuple):
    block: Block
    lines: int
    """Lines before the block."""
    offset: int


@functools.lru_cache(maxsize=MOST)
def _blocks_beginning(_first: str) -> list[Block]:
    """Return the cached blocks that begin with a line, the latest first. The line is the key because the end of a block is
    known only after parsing it."""
    return []


def blocks_of(text: str, read: Callable[[str], tuple[list[Unit], list[EslProblem]]]) -> Iterator[Placed]:
    """Yield the blocks of a text; `read` parses the text of a block. Comment lines between blocks are skipped."""
    place = lines = 0
    while place < len(text):
        end = text.find("\n", place) + 1 or len(text)
        first = text[place:end]
        if _REST.fullmatch(first):
            place, lines = end, lines + 1
            continue
        alike = _blocks_beginning(first)
        block = next((known for known in alike if _is_at(known, text, place)), None)
        if block is None:
            end, ending = _end(text, place)
            units, problems = read(text[place:end])
            block = Block(text[place:end], tuple(units), tuple(problems), text.count("\n", place, end), ending)
            alike.insert(0, block)
            del alike[ALIKE:]
        yield Placed(block, lines, place)
        place, lines = place + len(block.text), lines + block.lines


def _is_at(block: Block, text: str, place: int) -> bool:
    """Tell whether this block begins at a place."""
    if not text.startswith(block.text, place):
        return False
    end = place + len(block.text)
    if end == len(text) or not block.ending or not block.text.endswith("\n"):
        return end == len(text)
    return block.ending == ";" or not _semicolon_follows(text, end)


def _end(text: str, start: int) -> tuple[int, str]:
    """Return the end of the block that begins at `start`, and its terminator: the end of a line after a `;` or `}` that
    certainly ends a statement. Open braces here are at least those that `scan.pieces_of` counts."""
    depth, first = 0, True
    for match in TOKEN.finditer(text, start):
        kind, token, end = match.lastgroup, match.group(), match.end()
        if kind == "open":
            break
        if kind in ("blank", "comment"):
            first = first or "\n" in token
            continue
        if first and depth and kind == "word" and token in KEYWORDS and _goes_on(text, end):
            depth = 0
        first = False
        if token == "{":
            depth += 1
        elif token == "}":
            depth = max(0, depth - 1)
        if not depth and (token == ";" or (token == "}" and not _semicolon_follows(text, end))):
            rest = _REST.match(text, end)
            if rest is not None:
                return rest.end(), token
    return len(text), ""


def _after_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() if found is not None else place


def _goes_on(text: str, end: int) -> bool:
    """Tell, like `scan.begins_statement`, whether the text after a keyword can continue a statement."""
    following = _after_blanks(text, end)
    return following == len(text) or (following > end and text[following] not in ":=;,})")


def _semicolon_follows(text: str, end: int) -> bool:
    return text[(place := _after_blanks(text, end)) : place + 1] == ";"
