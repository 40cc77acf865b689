"""Cuts a spec's text into blocks, which can be read on their own, and keeps what was read of each.

Invariant: a block consists of whole lines, and what it says depends on nothing but its text; so a keystroke costs the reading
of the block that it is in, and all others only move.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from clew.esl.ast import Unit
from clew.esl.kept import Kept
from clew.esl.problem import EslProblem
from clew.esl.scan import TOKEN
from clew.esl.words import KEYWORDS

MOST = 20_000
"""First lines of blocks that are kept; a spec of thousands of lines is checked as fast as one of a hundred."""
ALIKE = 8
"""Blocks that are kept of those that begin with the same line."""

_BLANKS = re.compile(r"(?:\s++|//[^\n]*+|\#[^\n]*+|/\*(?:(?!\*/).)*+\*/)*+", re.DOTALL)
_REST = re.compile(r"(?:[^\S\n]++|//[^\n]*+|\#[^\n]*+|/\*(?:(?!\*/)[^\n])*+\*/)*+(?:\n|\Z)")
"""Nothing but blanks and comments up to the end of the line."""


@dataclass(frozen=True, slots=True)
class Block:
    """Spans count from its beginning."""

    text: str
    units: tuple[Unit, ...]
    problems: tuple[EslProblem, ...]
    lines: int
    ending: str
    """`;` or `}`, or "" when the text ended first."""


class Placed(NamedTuple):
    block: Block
    lines: int
    """Before it."""
    offset: int


_kept: Kept[str, tuple[Block, ...]] = Kept(MOST)
"""By their first lines, for where a block ends is known by reading it."""


def blocks_of(text: str, read: Callable[[str], tuple[list[Unit], list[EslProblem]]]) -> Iterator[Placed]:
    """`read` reads the text of a block. Lines with nothing but comments between blocks are left out."""
    place = lines = 0
    while place < len(text):
        end = text.find("\n", place) + 1 or len(text)
        first = text[place:end]
        if _REST.fullmatch(first):
            place, lines = end, lines + 1
            continue
        alike = _kept.get(first) or ()
        block = next((known for known in alike if _is_at(known, text, place)), None)
        if block is None:
            end, ending = _end(text, place)
            units, problems = read(text[place:end])
            block = Block(text[place:end], tuple(units), tuple(problems), text.count("\n", place, end), ending)
            _kept.put(first, (block, *alike[: ALIKE - 1]))
        yield Placed(block, lines, place)
        place, lines = place + len(block.text), lines + block.lines


def _is_at(block: Block, text: str, place: int) -> bool:
    """Is this the block that begins at a place?"""
    if not text.startswith(block.text, place):
        return False
    end = place + len(block.text)
    if end == len(text) or not block.ending or not block.text.endswith("\n"):
        return end == len(text)
    return block.ending == ";" or not _semicolon_follows(text, end)


def _end(text: str, start: int) -> tuple[int, str]:
    """Of the block that begins at `start`, and what ends it: where a line ends behind a `;` or a `}` that surely ends a
    statement, whatever follows. Braces that are open here are at least those that `scan.pieces_of` counts."""
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
    """As in `scan.begins_statement`: is what stands behind a keyword something that can go on a statement?"""
    following = _after_blanks(text, end)
    return following == len(text) or (following > end and text[following] not in ":=;,})")


def _semicolon_follows(text: str, end: int) -> bool:
    return text[(place := _after_blanks(text, end)) : place + 1] == ";"
