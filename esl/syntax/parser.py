"""Parse a spec's text to a syntax tree and a list of problems. The parser never raises for any text.

Every statement is parsed separately, so a syntax error affects only its own statement. It stays in the tree as
`Broken`. Unchanged blocks are not parsed again.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.resources import files

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from clew.esl.syntax import statement_splitter
from clew.esl.syntax.ast import Broken, EntityEvent, Part, Spec, Statement, Unit, Watch
from clew.esl.syntax.ast_builder import Builder
from clew.esl.syntax.hints import filter_alone, slip_of, word_before
from clew.esl.syntax.incremental import blocks_of
from clew.esl.syntax.keywords import CLAUSES, KEYWORDS, MEMBER_KEYWORDS, MOMENTS
from clew.esl.syntax.problem import EslProblem, did_you_mean, in_order, listing, nearest
from clew.esl.syntax.span import Lines, Span
from clew.esl.syntax.statement_splitter import Piece

MAX_DEPTH = 60
"""Maximum nesting of expressions: more than users need, and safe for recursive code."""

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
    text = files("clew.esl.syntax").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        text,
        parser="lalr",
        start=["statement", "entity", "member"],
        propagate_positions=True,
        maybe_placeholders=True,
    )


@functools.lru_cache(maxsize=4096)
def _tree_of(statement: str, start: str) -> Tree[Token]:
    """Return the grammar's tree of one statement. Cached because most statements of an edited block stay the same."""
    return grammar().parse(statement, start=start)


@functools.lru_cache(maxsize=16)
def parse(text: str) -> Parsed:
    """Parse a text. Cached because every question about a spec starts with it."""
    parts: list[Part] = []
    problems: list[EslProblem] = []
    for block, lines, offset in blocks_of(text, read_block):
        parts += [Part(unit, lines, offset) for unit in block.units]
        problems += [problem.moved(lines, offset) for problem in block.problems]
    return Parsed(Spec(Lines(text).span(0, len(text)), tuple(parts)), in_order(problems))


def read_block(text: str) -> tuple[list[Unit], list[EslProblem]]:
    """Parse a text that starts at the beginning of a line and outside of any statement; a whole spec is such a text."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = Lines(text)
        self.problems: list[EslProblem] = []

    def parse(self) -> tuple[list[Unit], list[EslProblem]]:
        tokens, problems = statement_splitter.tokens_of(self.text, self.lines)
        self.problems += problems
        statements: list[Statement] = []
        for piece in statement_splitter.pieces_of(tokens, self.lines, self.problems):
            statements += self._statements(piece)
        return [Unit(statement, self.text) for statement in statements], self.problems

    def _error(self, start: int, end: int, message: str, fix: str = "") -> None:
        self.problems.append(EslProblem("error", message, self.lines.span(start, end), fix))

    def _missing_end(self, piece: Piece, after: str) -> None:
        self._error(piece.end, piece.end, f"{after} must end with `;`; add it here", ";")

    # Statements.

    def _statements(self, piece: Piece) -> list[Statement]:
        """Return one statement, or several when the `;` between them is missing."""
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
        self._error(
            first.start, first.end, f"`{_shown(first.text)}` does not begin a {what.rpartition(' ')[2]}{hint}", name
        )

    def _entity(self, piece: Piece) -> tuple[Statement, Piece | None]:
        opening = next((index for index, token in enumerate(piece.tokens) if token.text == "{"), None)
        head = piece if opening is None else Piece(piece.tokens[:opening], "}")
        tree, rest = self._tree(head, "entity", KEYWORDS)
        if opening is None or rest is not None:
            # The braces, if any, belong to the following text.
            own = head if rest is None else _before(head, rest)
            if tree is not None:
                message = "an entity needs braces around its lines; write `entity NAME is module:Class { … }`"
                self._error(own.end, own.end, message, " { }")
            return self._broken(own), _from(piece, rest)
        body = piece.tokens[opening + 1 :]
        if piece.ending and body and body[-1].text == "}":
            body = body[:-1]
        elif not piece.ending:
            self._error(
                piece.end, piece.end, "the `{` of this entity is never closed; add `}` after its last line", " }"
            )
        members: list[Watch | EntityEvent] = []
        for part in statement_splitter.members_of(body):
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
        """Return the tree of a piece. When parsing fails and another statement begins inside the piece, the `;` between
        them is missing: then return the tree of the first (None if it has an error itself) and the remaining piece."""
        tree, problem = self._attempt(piece, start)
        if tree is not None or problem is None:
            return tree, None
        for index in range(1, len(piece.tokens)):
            token = piece.tokens[index]
            if statement_splitter.begins_statement(piece.tokens, index, keywords) and (
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
            message = f"expressions are nested more than {MAX_DEPTH} levels deep; write a simpler expression"
            return None, EslProblem("error", message, self.lines.span(piece.start, piece.end))
        return tree, None

    def _syntax_problem(self, error: UnexpectedInput, piece: Piece) -> EslProblem:
        start = piece.end
        if isinstance(error, UnexpectedCharacters):
            start = piece.start + (error.pos_in_stream or 0)
        elif isinstance(error, UnexpectedToken) and error.token.type != "$END" and error.token.start_pos is not None:
            start = piece.start + error.token.start_pos
        # The parser's table lists too many terminals; trying each one shows which can really follow.
        state = getattr(error, "interactive_parser", None)
        expected: set[str] = set(state.accepts()) if state is not None else set()
        if piece.word in CLAUSES:
            own = {word for group in CLAUSES[piece.word] for word in group}
            expected = {name for name in expected if not _keyword(name) or _keyword(name) not in _ANY_CLAUSE - own}
        expected_text = _described(expected)
        if start >= piece.end and expected != {"SLASH"}:
            message = f"the statement is incomplete; {expected_text} is missing here"
            return EslProblem("error", message, self.lines.span(piece.end, piece.end))
        if expected == {"SLASH"}:
            start = max(token.end for token in piece.tokens if token.end <= start)
            message = "a rate is a number and a unit; write `100/s`, `100/min` or `100/h`"
            return EslProblem("error", message, self.lines.span(start, start), "/s")
        token = next((token for token in piece.tokens if token.start <= start < token.end), None)
        end = token.end if token else start + 1
        found = self.text[start:end]
        if found in ('"', "'"):
            end = min([piece.end, *(p for p in [self.text.find("\n", start)] if p >= 0)])
            return EslProblem(
                "error", f"the string is not closed on its line; end it with `{found}`", self.lines.span(start, end)
            )
        span = self.lines.span(start, end)
        keywords = [text for name in sorted(expected) if (text := _keyword(name))]
        keywords += MOMENTS if "MOMENT" in expected else ()
        keywords += ["decorated by"] if "DECORATED_BY" in expected else ()
        slip = filter_alone(piece, start, found)
        if slip is None and found.isidentifier() and (name := nearest(found, keywords)):
            # Some of the words of `in subclasses of` may already be there.
            span = self.lines.span(start, end + _written_after(self.text[end : piece.end], name))
            return EslProblem("error", f"`{found}` is not expected here; did you mean `{name}`?", span, name)
        slip = slip or slip_of(self.text, piece, start, found, in_value={"PLUS", "SLASH"} <= expected)
        slip = slip or word_before(piece, start, _shown(found), keywords)
        if slip is not None:
            return EslProblem("error", slip.message, self.lines.span(slip.start, slip.end), slip.fix)
        return EslProblem("error", f"`{_shown(found)}` is not expected here; expected {expected_text}", span)


def _before(piece: Piece, rest: Piece) -> Piece:
    return Piece(tuple(token for token in piece.tokens if token.start < rest.start), "")


def _from(piece: Piece, rest: Piece | None) -> Piece | None:
    """Return the part of `piece` from the beginning of `rest`."""
    if rest is None:
        return None
    return Piece(tuple(token for token in piece.tokens if token.start >= rest.start), piece.ending)


def _next_on_a_line(piece: Piece, keywords: tuple[str, ...]) -> Piece | None:
    """Return the statement that begins on a later line of a piece."""
    for index in range(1, len(piece.tokens)):
        if piece.tokens[index].first and statement_splitter.begins_statement(piece.tokens, index, keywords):
            return piece.cut(index)[1]
    return None


def _written_after(text: str, name: str) -> int:
    """Return the length of the longest end of a name that the text begins with."""
    words = name.split(" ")[1:]
    rests = (re.match(r"\s+" + r"\s+".join(words[first:]) + r"\b", text) for first in range(len(words)))
    return next((rest.end() for rest in rests if rest is not None), 0)


def _shown(text: str) -> str:
    text = text if len(text) <= 40 else text[:40] + "…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _keyword(terminal: str) -> str:
    """Return the keyword of a terminal, or "" for other terminals."""
    definition = next((each for each in grammar().terminals if each.name == terminal), None)
    if definition is None or isinstance(definition.pattern, PatternStr):
        return ""
    match = re.fullmatch(r"(\w+(?:\\s\+\w+)*)\\b", definition.pattern.value)
    return match[1].replace(r"\s+", " ") if match else ""


@functools.lru_cache(maxsize=256)
def _described_sorted(expected: tuple[str, ...]) -> str:
    left = set(expected) - {"SETTING"}  # a pattern accepts almost any text and would be in every answer
    out: list[str] = []
    if {"NUMBER", "LPAR", "_UNSAFE"} <= left:
        out.append("an expression")
        left -= {"NAME", "NUMBER", "STRING", "LPAR", "MINUS", "NOT", "TRUE", "FALSE", "NONE", "_UNSAFE"}
    elif {"PLUS", "SLASH"} <= left:
        left -= _OPERATORS | {"STRING"}
    if "PATTERN" in left:
        left -= {"MODIFIER", "ASYNC"}
    if "SUBCLASSES_OF" in left:
        left -= _FILTERS  # never required
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
        # A sum of many terms is one node here, and nested to the left in the syntax tree.
        depth += len(node.children) // 2 if node.data in ("sum", "product") else 1
        if depth > MAX_DEPTH:
            return True
        stack += [(child, depth) for child in node.children if isinstance(child, Tree)]
    return False
