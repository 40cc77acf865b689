"""Reads a spec's text into a syntax tree and a list of problems; no text at all makes it raise.

Every statement is parsed on its own, so a bad one costs itself only. It is left in the tree as `Broken`. Blocks that were
read before are not read again.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.resources import files

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from clew.esl import scan
from clew.esl.ast import Broken, EntityEvent, Part, Spec, Statement, Unit, Watch
from clew.esl.blocks import blocks_of
from clew.esl.build import Builder
from clew.esl.problem import EslProblem, did_you_mean, in_order, listing, nearest
from clew.esl.scan import Piece
from clew.esl.slips import filter_alone, slip_of, word_before
from clew.esl.span import Lines, Span
from clew.esl.words import CLAUSES, KEYWORDS, MEMBER_KEYWORDS, MOMENTS

MAX_DEPTH = 60
"""How deep expressions may nest. Enough for people; little enough that whoever walks the tree may recurse."""

_WORDS = {
    "NAME": "a name",
    "DOTTED": "a name",
    "PATTERN": "a pattern such as `package.module:function`",
    "STRING": "a string",
    "NUMBER": "a number",
    "MOMENT": "`start` or `finish`",
    "WITH_IDS": "`with ids`",
    "OR_SUBCLASSES": "`or subclasses`",
    "$END": "`;`",
}
_OPERATORS = frozenset(
    ("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "COMPARE", "IN", "IS", "NOT", "_AND", "_OR", "DOT", "LSQB", "LPAR")
)
_FILTERS = frozenset(("DECORATED_BY", "SUBCLASSES_OF", "IN"))
_ANY_CLAUSE = {word for groups in CLAUSES.values() for group in groups for word in group}


@dataclass(frozen=True)
class Parsed:
    tree: Spec
    problems: tuple[EslProblem, ...]


@functools.cache
def grammar() -> Lark:
    text = files("clew.esl").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        text,
        parser="lalr",
        start=["statement", "entity", "member"],
        propagate_positions=True,
        maybe_placeholders=True,
    )


@functools.lru_cache(maxsize=4096)
def _tree_of(statement: str, start: str) -> Tree[Token]:
    """The grammar's tree of one statement. Kept, because the statements of a block that is typed in mostly stay."""
    return grammar().parse(statement, start=start)


@functools.lru_cache(maxsize=16)
def parse(text: str) -> Parsed:
    """Kept, because whoever asks something of a spec begins with it."""
    parts: list[Part] = []
    problems: list[EslProblem] = []
    for block, lines, offset in blocks_of(text, read_block):
        parts += [Part(unit, lines, offset) for unit in block.units]
        problems += [problem.moved(lines, offset) for problem in block.problems]
    return Parsed(Spec(Lines(text).span(0, len(text)), tuple(parts)), in_order(problems))


def read_block(text: str) -> tuple[list[Unit], list[EslProblem]]:
    """What a text says that stands at the beginning of a line, and outside of any statement; a whole spec is such a text."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = Lines(text)
        self.problems: list[EslProblem] = []

    def parse(self) -> tuple[list[Unit], list[EslProblem]]:
        tokens, problems = scan.tokens_of(self.text, self.lines)
        self.problems += problems
        statements: list[Statement] = []
        for piece in scan.pieces_of(tokens, self.lines, self.problems):
            statements += self._statements(piece)
        return [Unit(statement, self.text) for statement in statements], self.problems

    def _error(self, start: int, end: int, message: str, fix: str = "") -> None:
        self.problems.append(EslProblem("error", message, self.lines.span(start, end), fix))

    def _missing_end(self, piece: Piece, after: str) -> None:
        self._error(piece.end, piece.end, f"{after} ends with `;`; put one here", ";")

    # Statements.

    def _statements(self, piece: Piece) -> list[Statement]:
        """One statement, or several when the `;` between them is missing."""
        found: list[Statement] = []
        rest: Piece | None = piece
        while rest is not None:
            statement, rest = self._statement(rest)
            found.append(statement)
        return found

    def _span(self, piece: Piece) -> Span:
        return self.lines.span(piece.start, piece.end)

    def _broken(self, piece: Piece) -> Broken:
        return Broken(self._span(piece), piece.word)

    def _statement(self, piece: Piece) -> tuple[Statement, Piece | None]:
        if piece.word not in KEYWORDS:
            self._unknown(piece, KEYWORDS, "a statement")
            return self._broken(piece), _next_on_a_line(piece, KEYWORDS)
        if piece.word == "entity":
            return self._entity(piece)
        tree, rest = self._tree(piece, "statement", KEYWORDS)
        if tree is None:
            return self._broken(piece), rest
        if rest is not None:
            piece = _before(piece, rest)
        if piece.ending != ";":
            self._missing_end(piece, "a statement")
        return Builder(self._span(piece)).statement(tree), rest

    def _unknown(self, piece: Piece, keywords: tuple[str, ...], what: str) -> None:
        first = piece.tokens[0]
        hint, name = did_you_mean(first.text.lower(), keywords) if first.kind == "word" else ("", "")
        if not hint:
            hint = f"; {what} begins with {listing(keywords, limit=len(keywords))}"
        self._error(first.start, first.end, f"`{_shown(first.text)}` begins no {what.rpartition(' ')[2]}{hint}", name)

    def _entity(self, piece: Piece) -> tuple[Statement, Piece | None]:
        opening = next((index for index, token in enumerate(piece.tokens) if token.text == "{"), None)
        head = piece if opening is None else Piece(piece.tokens[:opening], "}")
        tree, rest = self._tree(head, "entity", KEYWORDS)
        if opening is None or rest is not None:
            # The braces, if there are any, belong to what follows.
            own = head if rest is None else _before(head, rest)
            if tree is not None:
                message = "an entity's lines stand in braces: `entity NAME is module:Class { … }`"
                self._error(own.end, own.end, message, " { }")
            return self._broken(own), _from(piece, rest)
        body = piece.tokens[opening + 1 :]
        if piece.ending and body and body[-1].text == "}":
            body = body[:-1]
        elif not piece.ending:
            self._error(piece.end, piece.end, "this entity's `{` is never closed; put `}` after its last line", " }")
        members: list[Watch | EntityEvent] = []
        for part in scan.members_of(body):
            members += self._members(part)
        if tree is None:
            return self._broken(piece), None
        return Builder(self._span(head)).entity(tree, tuple(members), self._span(piece)), None

    def _members(self, piece: Piece) -> list[Watch | EntityEvent]:
        found: list[Watch | EntityEvent] = []
        rest: Piece | None = piece
        while rest is not None:
            part, rest = rest, None
            if part.word not in MEMBER_KEYWORDS:
                self._unknown(part, MEMBER_KEYWORDS, "an entity's line")
                rest = _next_on_a_line(part, MEMBER_KEYWORDS)
                continue
            tree, rest = self._tree(part, "member", MEMBER_KEYWORDS)
            if tree is None:
                continue
            if rest is not None:
                part = _before(part, rest)
            if part.ending != ";":
                self._missing_end(part, "an entity's line")
            found.append(Builder(self._span(part)).member(tree))
        return found

    # One call of the grammar.

    def _tree(self, piece: Piece, start: str, keywords: tuple[str, ...]) -> tuple[Tree[Token] | None, Piece | None]:
        """The tree of a piece. When the piece fails and another statement begins inside it, the `;` between them is
        missing: then the tree of the first (None if it is bad in itself, too) and what remains."""
        tree, problem = self._attempt(piece, start)
        if tree is not None or problem is None:
            return tree, None
        for index in range(1, len(piece.tokens)):
            token = piece.tokens[index]
            if scan.begins_statement(piece.tokens, index, keywords) and (
                token.first or token.start == problem.span.start
            ):
                first, rest = piece.cut(index)
                tree, earlier = self._attempt(first, start)
                if earlier is not None:
                    self.problems.append(earlier)
                return tree, rest
        self.problems.append(problem)
        return None, None

    def _attempt(self, piece: Piece, start: str) -> tuple[Tree[Token] | None, EslProblem | None]:
        try:
            tree = _tree_of(self.text[piece.start : piece.end], start)
        except UnexpectedInput as error:
            return None, self._syntax_problem(error, piece)
        if piece.end - piece.start > MAX_DEPTH and _nests_too_deeply(self.text[piece.start : piece.end], start):
            message = f"this nests more than {MAX_DEPTH} expressions in one another; write a shorter expression"
            return None, EslProblem("error", message, self.lines.span(piece.start, piece.end))
        return tree, None

    def _syntax_problem(self, error: UnexpectedInput, piece: Piece) -> EslProblem:
        start = piece.end
        if isinstance(error, UnexpectedCharacters):
            start = piece.start + (error.pos_in_stream or 0)
        elif isinstance(error, UnexpectedToken) and error.token.type != "$END" and error.token.start_pos is not None:
            start = piece.start + error.token.start_pos
        # What the parser's table lists is too much; trying each tells what really can follow.
        state = getattr(error, "interactive_parser", None)
        expected: set[str] = set(state.accepts()) if state is not None else set()
        if piece.word in CLAUSES:
            own = {word for group in CLAUSES[piece.word] for word in group}
            expected = {name for name in expected if not _keyword(name) or _keyword(name) not in _ANY_CLAUSE - own}
        wanted = _described(expected)
        if start >= piece.end and expected != {"SLASH"}:
            message = f"this is not finished; {wanted} is missing here"
            return EslProblem("error", message, self.lines.span(piece.end, piece.end))
        if expected == {"SLASH"}:
            start = max(token.end for token in piece.tokens if token.end <= start)
            message = "how often is a number and a time: `100/s`, `100/min` or `100/h`"
            return EslProblem("error", message, self.lines.span(start, start), "/s")
        token = next((token for token in piece.tokens if token.start <= start < token.end), None)
        end = token.end if token else start + 1
        found = self.text[start:end]
        if found in ('"', "'"):
            end = min([piece.end, *(p for p in [self.text.find("\n", start)] if p >= 0)])
            return EslProblem(
                "error", f"this string is not closed on its line; end it with `{found}`", self.lines.span(start, end)
            )
        span = self.lines.span(start, end)
        keywords = [text for name in sorted(expected) if (text := _keyword(name))]
        keywords += MOMENTS if "MOMENT" in expected else ()
        keywords += ["decorated by"] if "DECORATED_BY" in expected else ()
        slip = filter_alone(piece, start, found)
        if slip is None and found.isidentifier() and (name := nearest(found, keywords)):
            # Of several words, `in subclasses of`, some may stand there.
            span = self.lines.span(start, end + _written_after(self.text[end : piece.end], name))
            return EslProblem("error", f"`{found}` is not expected here; did you mean `{name}`?", span, name)
        slip = slip or slip_of(self.text, piece, start, found, in_value={"PLUS", "SLASH"} <= expected)
        slip = slip or word_before(piece, start, _shown(found), keywords)
        if slip is not None:
            return EslProblem("error", slip.message, self.lines.span(slip.start, slip.end), slip.fix)
        return EslProblem("error", f"`{_shown(found)}` is not expected here; {wanted} is", span)


def _before(piece: Piece, rest: Piece) -> Piece:
    return Piece(tuple(token for token in piece.tokens if token.start < rest.start), "")


def _from(piece: Piece, rest: Piece | None) -> Piece | None:
    """All of `piece` from where `rest` begins."""
    if rest is None:
        return None
    return Piece(tuple(token for token in piece.tokens if token.start >= rest.start), piece.ending)


def _next_on_a_line(piece: Piece, keywords: tuple[str, ...]) -> Piece | None:
    """The statement that begins on a later line of a piece."""
    for index in range(1, len(piece.tokens)):
        if piece.tokens[index].first and scan.begins_statement(piece.tokens, index, keywords):
            return piece.cut(index)[1]
    return None


def _written_after(text: str, name: str) -> int:
    """How many characters the last words of a name have where a text begins with them, the most there are."""
    words = name.split(" ")[1:]
    rests = (re.match(r"\s+" + r"\s+".join(words[first:]) + r"\b", text) for first in range(len(words)))
    return next((rest.end() for rest in rests if rest is not None), 0)


def _shown(text: str) -> str:
    text = text if len(text) <= 40 else text[:40] + "…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _keyword(terminal: str) -> str:
    """The keyword that a terminal stands for, "" if it stands for something else."""
    definition = next((each for each in grammar().terminals if each.name == terminal), None)
    if definition is None or isinstance(definition.pattern, PatternStr):
        return ""
    match = re.fullmatch(r"(\w+(?:\\s\+\w+)*)\\b", definition.pattern.value)
    return match[1].replace(r"\s+", " ") if match else ""


@functools.lru_cache(maxsize=256)
def _described_sorted(expected: tuple[str, ...]) -> str:
    left = set(expected) - {"SETTING"}  # which may stand for much, and would be in every answer
    out: list[str] = []
    if {"NUMBER", "LPAR", "_UNSAFE"} <= left:
        out.append("an expression")
        left -= {"NAME", "NUMBER", "STRING", "LPAR", "MINUS", "NOT", "TRUE", "FALSE", "NONE", "_UNSAFE"}
    elif {"PLUS", "SLASH"} <= left:
        left -= _OPERATORS | {"STRING"}
    if "PATTERN" in left:
        left -= {"MODIFIER", "ASYNC"}
    if "SUBCLASSES_OF" in left:
        left -= _FILTERS  # which are nowhere needed
    symbols = {each.name: each.pattern.value for each in grammar().terminals if isinstance(each.pattern, PatternStr)}
    for name in sorted(left):
        text = _WORDS.get(name) or (f"`{word}`" if (word := symbols.get(name) or _keyword(name)) else "")
        if text:
            out.append(text)
    out = sorted(dict.fromkeys(out), key=lambda item: (item == "`;`", item))
    return " or ".join([", ".join(out[:-1]), out[-1]] if len(out) > 1 else out) or "something else"


def _described(expected: set[str]) -> str:
    return _described_sorted(tuple(sorted(expected)))


@functools.lru_cache(maxsize=4096)
def _nests_too_deeply(statement: str, start: str) -> bool:
    return _too_deep(_tree_of(statement, start))


def _too_deep(tree: Tree[Token]) -> bool:
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        # A sum of many terms is one node here, and nests to the left in the syntax tree.
        depth += len(node.children) // 2 if node.data in ("sum", "product") else 1
        if depth > MAX_DEPTH:
            return True
        stack += [(child, depth) for child in node.children if isinstance(child, Tree)]
    return False
