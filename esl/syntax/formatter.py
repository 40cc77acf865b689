"""Format a spec: one statement a line, single blanks between words, indented entity lines; comments stay.

Invariant: the formatted text has the same tree and the same comments, and formatting is idempotent. Statements with
syntax errors stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lark import Token, UnexpectedInput

from clew.esl.syntax import statement_splitter
from clew.esl.syntax.parser import grammar, parse
from clew.esl.syntax.problem import EslProblem
from clew.esl.syntax.span import Lines
from clew.esl.syntax.statement_splitter import Piece

INDENT = "    "
WIDTH = 100
"""Maximum columns of a level in one line; longer ones have one label per line."""
_ROUNDS = 4
_TIGHT_BEFORE = frozenset(("COMMA", "RPAR", "RSQB", "COLON", "DOT", "SEMICOLON"))
_TIGHT_AFTER = frozenset(("LPAR", "LSQB", "DOT"))
_CALLABLE = frozenset(("NAME", "DOTTED", "PATTERN", "RPAR", "RSQB", "STRING"))
_OPERANDS = _CALLABLE | {"NUMBER", "SETTING", "TRUE", "FALSE", "NONE"}


def format_text(text: str) -> str:
    """Format a text. Never raises. A text whose meaning would change is returned unchanged."""
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text.replace("\r\n", "\n")
    formatted = before
    for _ in range(_ROUNDS):
        earlier, formatted = formatted, _Formatter(formatted).run()
        if formatted == earlier:
            break
    else:
        return text
    return formatted.replace("\n", newline) if _means_the_same(before, formatted) else text


def _means_the_same(before: str, after: str) -> bool:
    if before == after:
        return True
    one, two = parse(before), parse(after)
    messages = [[problem.message for problem in parsed.problems] for parsed in (one, two)]
    return one.tree == two.tree and messages[0] == messages[1] and _comments(before) == _comments(after)


def _comments(text: str) -> list[str]:
    return [
        match.group().rstrip()
        for match in statement_splitter.TOKEN.finditer(text)
        if match.lastgroup in ("comment", "open")
    ]


@dataclass
class _Line:
    code: str
    comment: str = ""
    """Comment at the end of the line."""
    blank_before: bool = False
    verbatim: bool = False


class _Formatter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[_Line] = []

    def run(self) -> str:
        places = Lines(self.text)
        problems: list[EslProblem] = []
        tokens, unclosed = statement_splitter.tokens_of(self.text, places)
        pieces = list(statement_splitter.pieces_of(tokens, places, problems))
        # Text after an unclosed comment stays unchanged.
        stop = unclosed[0].span.start if unclosed else len(self.text)
        place = 0
        for piece in pieces:
            self._between(place, piece.start, "")
            place = self._statement(piece)
        self._between(place, stop, "")
        tail = self.text[stop:]
        made = "\n".join(self._aligned())
        return (made + "\n" if made else "") + tail

    # Between statements: comments, blank lines, and redundant marks.

    def _between(self, start: int, end: int, indent: str) -> None:
        for match in statement_splitter.TOKEN.finditer(self.text, start, end):
            if match.lastgroup == "comment":
                self._comment(match.group(), match.start(), start, indent)
            elif match.lastgroup != "blank" and match.group() != ";":
                self._add(_Line(match.group(), verbatim=True), match.start())

    def _comment(self, comment: str, at: int, after: int, indent: str) -> None:
        comment = comment.rstrip()
        line = self.lines[-1] if self.lines else None
        same_line = "\n" not in self.text[after:at] and after > 0
        if same_line and line is not None and not line.comment and "\n" not in comment:
            line.comment = comment
        elif same_line and line is not None and line.comment.endswith("*/") and "\n" not in comment:
            line.comment += " " + comment
        else:
            self._add(_Line(indent + comment), at)

    def _add(self, line: _Line, at: int) -> None:
        """Add a line; `at` is its offset in the text, to preserve a preceding blank line."""
        lead = self.text[: at - len(line.code) + len(line.code.lstrip())] if line.verbatim else self.text[:at]
        blanks = lead[len(lead.rstrip()) :]
        line.blank_before = blanks.count("\n") > 1 and bool(self.lines)
        self.lines.append(line)

    # Statements.

    def _statement(self, piece: Piece) -> int:
        """Format a statement and return the start of the text after it."""
        end = piece.end
        if piece.ending == ";":
            end = self.text.index(";", self._past_comments(piece.end)) + 1
        opening = next((token for token in piece.tokens if token.text == "{"), None)
        made: list[_Line] | None = None
        if piece.word == "entity" and opening is not None and piece.tokens[-1].text == "}":
            made = self._entity(piece, opening)
        elif piece.ending == ";" and not self._has_comment(piece.end, end):
            tokens = self._read(piece.start, piece.end, "statement")
            made = self._laid_out(tokens, "", end=";") if tokens else None
        if made is None:
            made = [_Line(self.text[piece.start : end], verbatim=True)]
        self._add(made[0], piece.start)
        self.lines += made[1:]
        return end

    def _past_comments(self, place: int) -> int:
        for match in statement_splitter.TOKEN.finditer(self.text, place):
            if match.lastgroup not in ("blank", "comment"):
                return match.start()
        return place

    def _has_comment(self, start: int, end: int) -> bool:
        return any(match.lastgroup == "comment" for match in statement_splitter.TOKEN.finditer(self.text, start, end))

    def _read(self, start: int, end: int, what: str) -> list[Token]:
        """Return the accepted tokens of the grammar, with offsets in the text."""
        found: list[Token] = []
        state = grammar().parse_interactive(self.text[start:end], start=what)
        try:
            found.extend(state.iter_parse())
            state.feed_eof()  # type: ignore[no-untyped-call]  # lark has no annotation here
        except UnexpectedInput:
            return []
        return [_moved(token, start) for token in found]

    def _entity(self, piece: Piece, opening: statement_splitter.Token) -> list[_Line] | None:
        head = self._read(piece.start, opening.start, "entity")
        made = self._laid_out(head, "", end=" {") if head else None
        closing = piece.tokens[-1]
        if made is None or self._has_comment(head[-1].end_pos or 0, opening.start):
            return None
        inner = _Formatter(self.text)
        inner.lines = [_Line("")]  # so that a comment after the brace keeps its place
        place = opening.end
        inside = tuple(token for token in piece.tokens if opening.start < token.start < closing.start)
        for member in statement_splitter.members_of(inside):
            inner._between(place, member.start, INDENT)
            tokens = self._read(member.start, member.end, "member") if member.ending else []
            if not tokens:
                return None
            place = self.text.index(";", self._past_comments(member.end)) + 1
            if self._has_comment(member.end, place):
                return None
            lines = self._laid_out(tokens, INDENT, end=";")
            inner._add(lines[0], member.start)
            inner.lines += lines[1:]
        inner._between(place, closing.start, INDENT)
        made[-1].comment = inner.lines[0].comment
        inside_lines = inner.lines[1:]
        if inside_lines:
            inside_lines[0].blank_before = False
        return [*made, *inside_lines, _Line("}")]

    # Tokens.

    def _laid_out(self, tokens: list[Token], indent: str, *, end: str) -> list[_Line]:
        """Keep the lines as written, except for a level's labels, which are in one line or one below the other."""
        one_line = "\n" not in self.text[tokens[0].start_pos : tokens[-1].end_pos]
        if any(token.type == "LBRACE" for token in tokens):
            whole = indent + "".join(_spaced(tokens)) + end
            commented = self._has_comment(tokens[0].start_pos or 0, tokens[-1].end_pos or 0)
            if commented or not one_line or len(whole) > WIDTH:
                return self._labels(tokens, indent, end)
            return [_Line(whole)]
        return self._wrapped(tokens, indent, end, lambda _: False)

    def _labels(self, tokens: list[Token], indent: str, end: str) -> list[_Line]:
        opening = next(n for n, token in enumerate(tokens) if token.type == "LBRACE")
        closing = len(tokens) - 1
        broken = {opening + 1, closing} | {n + 1 for n in range(opening, closing) if tokens[n].type == "COMMA"}
        starts = {tokens[n].start_pos for n in broken}
        return self._wrapped(tokens, indent, end, lambda token: token.start_pos in starts, joined=True)

    def _wrapped(
        self, tokens: list[Token], indent: str, end: str, breaks: Callable[[Token], bool], *, joined: bool = False
    ) -> list[_Line]:
        """Break lines; with `joined`, only at `breaks` and after end-of-line comments."""
        lines = [_Line(indent)]
        spaces = list(_spaced(tokens))
        for number, token in enumerate(tokens):
            fresh = number == 0
            if number:
                before = tokens[number - 1]
                gap = self.text[before.end_pos : token.start_pos]
                for match in statement_splitter.TOKEN.finditer(gap):
                    if match.lastgroup == "comment":
                        comment = match.group().rstrip()
                        if "\n" in comment or (comment.startswith("/*") and "\n" not in gap[match.end() :]):
                            lines[-1].code += " " + comment
                        elif lines[-1].comment or not lines[-1].code.strip():
                            lines.append(_Line(indent + INDENT + comment))
                            fresh = True
                        else:
                            lines[-1].comment = comment
                if breaks(token) or lines[-1].comment or ("\n" in gap and not joined) or fresh:
                    closing = joined and token.type == "RBRACE"
                    lines.append(_Line(indent if closing else indent + INDENT))
                    fresh = True
            lines[-1].code += spaces[number].lstrip() if fresh else spaces[number]
        lines[-1].code += end
        return lines

    def _aligned(self) -> Iterator[str]:
        """Yield the lines; end-of-line comments of neighbours are aligned."""
        number = 0
        while number < len(self.lines):
            stop = number + 1
            if self.lines[number].comment:
                while stop < len(self.lines) and self.lines[stop].comment and not self.lines[stop].blank_before:
                    stop += 1
            group = self.lines[number:stop]
            width = max(len(line.code.rpartition("\n")[2]) for line in group)
            for line in group:
                if line.blank_before:
                    yield ""
                shown = len(line.code.rpartition("\n")[2])
                yield line.code + (" " * (width - shown + 2) + line.comment if line.comment else "")
            number = stop


def _moved(token: Token, by: int) -> Token:
    start, end = (token.start_pos or 0) + by, (token.end_pos or 0) + by
    return Token(token.type, token.value, start, token.line, token.column, token.end_line, token.end_column, end)


def _spaced(tokens: list[Token]) -> Iterator[str]:
    """Yield each token with its preceding blank, if any."""
    before: Token | None = None
    unary, rated = False, -1
    for token in tokens:
        text = re.sub(r"\s+", " ", str(token)) if token.type != "STRING" else str(token)
        share = token.type == "PERCENT" and token is tokens[-1]
        rated = 3 if token.type == "AT_MOST" else rated - 1  # its number, slash and unit follow
        tight = unary or share or rated in (0, 1)
        yield text if before is None or tight or _is_tight(before, token) else " " + text
        unary = token.type == "MINUS" and (before is None or before.type not in _OPERANDS)
        before = token


def _is_tight(before: Token, after: Token) -> bool:
    if after.type in _TIGHT_BEFORE or before.type in _TIGHT_AFTER:
        return True
    if after.type in ("LPAR", "LSQB"):
        return before.type in _CALLABLE
    # A quantity and its unit: 3%, 512MB, 100/s.
    touching = before.end_pos == after.start_pos
    return before.type in ("NUMBER", "SETTING") and (
        after.type == "NAME" or (touching and after.type in ("PERCENT", "SLASH"))
    )
