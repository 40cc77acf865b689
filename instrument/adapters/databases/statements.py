"""Read from the text of an SQL statement which rows of which table it reads or writes.

Only what the text says is known: a table, equalities that `AND` joins, and assigned values. Of a statement with joins, inner
queries or other conditions, the rows are not known. Invariant: parsing never fails, and asks no database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.stored_states import DEFINE, DELETE, READ, WRITE

MOST_CHARACTERS = 20_000
"""The longest statement that is parsed."""
MOST_ROWS = 50
"""The rows of one INSERT that are known."""
_TOKEN = re.compile(
    r"""\s+|--[^\n]*|/\*.*?(?:\*/|\Z)
    |(?P<blob>[xX]'[^']*')|(?P<text>'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
    |(?P<parameter>\?\d*|[:@$][A-Za-z_]\w*)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    |(?P<word>[^\W\d][\w$]*)
    |(?P<sign>==|<>|!=|<=|>=|\|\||<<|>>|->>?|.)""",
    re.VERBOSE | re.DOTALL,
)
_AFTER_WHERE = frozenset({"GROUP", "ORDER", "LIMIT", "HAVING", "WINDOW", "RETURNING", "UNION", "INTERSECT", "EXCEPT"})
_NOT_COLUMNS = frozenset({"PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT"})
_NAMES_TABLE = frozenset({"FROM", "JOIN", "INTO", "UPDATE"})
_AFTER_TABLE = frozenset({
    "WHERE", "SET", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "ON", "USING", "VALUES", "SELECT", "DEFAULT",
    "INDEXED", "NOT", "AS", *_AFTER_WHERE,
})  # fmt: skip
_KEYWORDS = _AFTER_TABLE | _NOT_COLUMNS | _NAMES_TABLE | frozenset({
    "AND", "OR", "IS", "NULL", "IN", "LIKE", "GLOB", "BETWEEN", "EXISTS", "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT",
    "ALL", "ASC", "DESC", "BY", "COLLATE", "CAST", "WITH", "INSERT", "REPLACE", "DELETE", "OFFSET", "TRUE", "FALSE", "ESCAPE",
})  # fmt: skip


class Token(NamedTuple):
    kind: str
    """name, word, text, number, blob, parameter or sign."""
    text: str
    """A word in capital letters; a name without its quotes; the name of a parameter, or its number from 1."""
    original: str

    @property
    def is_name(self) -> bool:
        return self.kind == "name" or (self.kind == "word" and self.text not in _KEYWORDS)


class Value(NamedTuple):
    """A value in a statement."""

    parameter: str = ""
    """The number, from 1, or the name of the parameter, "" for a literal."""
    literal: object = None
    is_known: bool = True


class Statement(NamedTuple):
    """What a statement does to one table."""

    do: str
    """READ, WRITE, DELETE or DEFINE, as in `clew.records.format.stored_states`."""
    command: str
    table: str
    where: Mapping[str, Value] = MappingProxyType({})
    exact: bool = True
    """The statement has no condition but `where`."""
    rows: tuple[dict[str, Value], ...] = ()
    """The assigned values, for each row that is inserted; columns without a name have their number from 1."""
    columns: tuple[str, ...] = ()
    """The columns that a read depends on, () for all; or those of a defined table."""


def statements_of(sql: str) -> tuple[Statement, ...]:
    """Return what a statement does, by table; () for one that neither reads nor writes rows, or that is not understood."""
    if len(sql) > MOST_CHARACTERS:
        return ()
    try:
        return tuple(_Parser(list(_tokens(sql))).parse())
    except (IndexError, ValueError):
        return ()


def _tokens(sql: str) -> Iterator[Token]:
    count = 0
    for found in _TOKEN.finditer(sql):
        kind, original = found.lastgroup, found[0]
        if kind is None:
            continue
        text = original
        if kind == "name":
            text = original[1:-1].replace(original[0] * 2, original[0])
        elif kind == "word":
            text = original.upper()
        elif kind == "parameter":
            if original[0] == "?":
                count = int(original[1:]) if original[1:] else count + 1
                text = str(count)
            else:
                text = original[1:]
        yield Token(kind, text, original)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        while tokens and tokens[-1].text == ";":
            tokens.pop()

    def parse(self) -> Iterator[Statement]:
        tokens = self._tokens
        first = tokens[0].text if tokens else ""
        match first:
            case "SELECT":
                yield from self._select()
            case "UPDATE":
                yield from self._update()
            case "INSERT" | "REPLACE":
                yield from self._insert(first)
            case "DELETE":
                yield from self._delete()
            case "CREATE" if tokens[1].text == "TABLE":
                yield from self._create()
            case "WITH":
                yield from self._whole_tables(0)
                for word in ("INSERT", "REPLACE", "UPDATE", "DELETE"):
                    at = self._find(word, 1)
                    names = [self._find(each, at) for each in ("INTO", "UPDATE", "FROM")] if at >= 0 else []
                    if place := min((found for found in names if found >= 0), default=-1) + 1:
                        yield Statement(DELETE if word == "DELETE" else WRITE, word, self._table(place)[0], exact=False)
                        break
            case "DROP" if tokens[1].text == "TABLE":
                at = 4 if tokens[2].text == "IF" else 2
                yield Statement(DELETE, "DROP", self._table(at)[0])

    def _select(self) -> Iterator[Statement]:
        begin = self._find("FROM", 1)
        if begin < 0:
            return
        table, after = self._table(begin + 1)
        after = self._skip_alias(after)
        where = self._find("WHERE", after)
        end = self._end(after)
        if (after < end and where != after) or self._has_inner_query():
            yield from self._whole_tables(0)
            return
        conditions, exact = self._conditions(where + 1, end) if where >= 0 else ({}, True)
        columns = self._columns(1, begin)
        if columns:
            tokens = self._tokens[after:]
            columns += tuple(_name(token) for token in tokens if token.is_name)
        yield Statement(READ, "SELECT", table, conditions, exact, (), tuple(dict.fromkeys(columns)))

    def _update(self) -> Iterator[Statement]:
        at = 3 if self._tokens[1].text == "OR" else 1
        table, after = self._table(at)
        begin = self._find("SET", after)
        where, end = self._find("WHERE", begin), self._end(begin)
        stop = where if where >= 0 else end
        more = self._find("FROM", begin)
        stop = more if 0 <= more < stop else stop
        values = {name: value for part in self._split(begin + 1, stop) for name, value in self._assigned(part)}
        conditions, exact = (
            self._conditions(where + 1, end) if where >= 0 and more < 0 else ({}, where < 0 and more < 0)
        )
        yield Statement(WRITE, "UPDATE", table, conditions, exact, (values,))
        if self._has_inner_query() or more >= 0:
            yield from self._whole_tables(begin)

    def _insert(self, command: str) -> Iterator[Statement]:
        at = self._find("INTO", 0) + 1
        table, after = self._table(at)
        after = self._skip_alias(after)
        names: list[str] = []
        if self._text(after) == "(":
            close = self._close(after)
            names = [_name(token) for token in self._tokens[after + 1 : close] if token.kind in {"name", "word"}]
            after = close + 1
        rows: list[dict[str, Value]] = []
        if self._text(after) == "VALUES":
            after += 1
            while self._text(after) == "(" and len(rows) < MOST_ROWS:
                close = self._close(after)
                values = [self._value(part) for part in self._split(after + 1, close)]
                keys = names or [str(number) for number in range(1, len(values) + 1)]
                rows.append(dict(zip(keys, values, strict=False)))
                after = close + 2 if self._text(close + 1) == "," else close + 1
            if self._text(after) == "(":
                rows = []  # more than are known
            yield Statement(WRITE, command, table, {}, bool(rows), tuple(rows))
        else:
            yield Statement(WRITE, command, table, {}, exact=False)
        if self._has_inner_query():
            yield from self._whole_tables(after)

    def _delete(self) -> Iterator[Statement]:
        table, after = self._table(2)
        where, end = self._find("WHERE", after), self._end(after)
        conditions, exact = self._conditions(where + 1, end) if where >= 0 else ({}, True)
        yield Statement(DELETE, "DELETE", table, conditions, exact)
        if self._has_inner_query():
            yield from self._whole_tables(after)

    def _create(self) -> Iterator[Statement]:
        table, after = self._table(5 if self._tokens[2].text == "IF" else 2)
        if self._text(after) == "(":
            parts = self._split(after + 1, self._close(after))
            first = [part[0] for part in parts if part and part[0].text not in _NOT_COLUMNS]
            yield Statement(DEFINE, "CREATE", table, columns=tuple(map(_name, first)))

    def _whole_tables(self, begin: int) -> Iterator[Statement]:
        """Yield reads of some rows of every table after FROM or JOIN."""
        seen: set[str] = set()
        for at in range(begin, len(self._tokens) - 1):
            token = self._tokens[at]
            follows = self._tokens[at + 1]
            if token.kind == "word" and token.text in {"FROM", "JOIN"} and follows.is_name:
                table, after = self._table(at + 1)
                while table not in seen:
                    seen.add(table)
                    yield Statement(READ, "SELECT", table, exact=False)
                    after = self._skip_alias(after)
                    if self._text(after) != "," or not self._tokens[after + 1].is_name:
                        break
                    table, after = self._table(after + 1)

    # ---- Parts of statements ----

    def _text(self, at: int) -> str:
        """Return a word or a sign, "" for any other token and after the end."""
        if at >= len(self._tokens) or self._tokens[at].kind not in {"word", "sign"}:
            return ""
        return self._tokens[at].text

    def _table(self, at: int) -> tuple[str, int]:
        """Return a table's name and the place after it; that of another schema keeps it. Raise `ValueError` for none."""
        if not self._tokens[at].kind.startswith(("name", "word")):
            raise ValueError("not a table")
        name = _name(self._tokens[at])
        if self._text(at + 1) != ".":
            return name, at + 1
        schema, name = name, _name(self._tokens[at + 2])
        return (name if schema.lower() == "main" else f"{schema}.{name}"), at + 3

    def _skip_alias(self, at: int) -> int:
        if self._text(at) == "AS":
            return at + 2
        if at < len(self._tokens) and self._tokens[at].is_name:
            return at + 1
        return at

    def _level(self, begin: int, end: int) -> Iterator[int]:
        """Yield the places that no parentheses enclose."""
        depth = 0
        for at in range(begin, end):
            text = self._text(at)
            depth -= text == ")"
            if depth == 0:
                yield at
            depth += text == "("

    def _find(self, word: str, begin: int) -> int:
        tokens = self._tokens
        found = (at for at in self._level(begin, len(tokens)) if tokens[at].kind == "word" and tokens[at].text == word)
        return next(found, -1)

    def _end(self, begin: int) -> int:
        places = (at for at in self._level(begin, len(self._tokens)) if self._text(at) in _AFTER_WHERE)
        return next(places, len(self._tokens))

    def _close(self, begin: int) -> int:
        depth = 0
        for at in range(begin, len(self._tokens)):
            text = self._text(at)
            depth += (text == "(") - (text == ")")
            if depth == 0:
                return at
        raise ValueError("unclosed")

    def _has_inner_query(self) -> bool:
        return any(token.kind == "word" and token.text in {"SELECT", "UNION"} for token in self._tokens[1:])

    def _split(self, begin: int, end: int, sign: str = ",") -> list[list[Token]]:
        cuts = [at for at in self._level(begin, end) if self._text(at) == sign]
        return [self._tokens[first + 1 : last] for first, last in zip([begin - 1, *cuts], [*cuts, end], strict=True)]

    def _columns(self, begin: int, end: int) -> tuple[str, ...]:
        """Return the names in a part of a statement, () if it has a star."""
        tokens = self._tokens[begin:end]
        # The star of `count(*)` depends on which rows there are, and so on all that is inserted or deleted.
        if any(
            token.original == "*" and (at == 0 or tokens[at - 1].original in {",", ".", "(", "DISTINCT"})
            for at, token in enumerate(tokens)
        ):
            return ()
        return tuple(_name(token) for token in tokens if token.is_name)

    def _conditions(self, begin: int, end: int) -> tuple[dict[str, Value], bool]:
        """Return the equalities of a condition, and whether it consists of them."""
        if any(self._text(at) == "OR" for at in self._level(begin, end)):
            return {}, False
        found: dict[str, Value] = {}
        exact = True
        between = any(self._text(at) == "BETWEEN" for at in self._level(begin, end))
        for part in self._split(begin, end, "AND"):
            pair = None if between else _equality(part)
            value = self._value(pair[1]) if pair is not None else None
            if pair is None or value is None or not value.is_known or pair[0] in found:
                exact = False
            else:
                found[pair[0]] = value
        return found, exact

    def _assigned(self, part: list[Token]) -> Iterator[tuple[str, Value]]:
        if part[0].text == "(":  # (a, b) = (1, 2)
            for token in part[1:]:
                if token.text == ")":
                    return
                if token.kind in {"name", "word"}:
                    yield _name(token), Value(is_known=False)
        elif part[0].kind in {"name", "word"} and part[1].text == "=":
            yield _name(part[0]), self._value(part[2:])

    def _value(self, part: Sequence[Token]) -> Value:
        sign = 1
        if len(part) == 2 and part[0].text in {"-", "+"} and part[1].kind == "number":
            sign, part = (-1 if part[0].text == "-" else 1), part[1:]
        if len(part) != 1:
            return Value(is_known=False)
        kind, text, original = part[0]
        match kind:
            case "parameter":
                return Value(parameter=text)
            case "number":
                return Value(literal=sign * (int(text) if text.isdigit() else float(text)))
            case "text":
                return Value(literal=original[1:-1].replace("''", "'"))
            case "word" if text in {"NULL", "TRUE", "FALSE"}:
                return Value(literal={"NULL": None, "TRUE": 1, "FALSE": 0}[text])
            case _:
                return Value(is_known=False)


def _name(token: Token) -> str:
    """Return a name as SQLite compares it, without regard to case."""
    return (token.text if token.kind == "name" else token.original).lower()


def _equality(part: list[Token]) -> tuple[str, list[Token]] | None:
    """Return the column and the value of `column = value`, in either order; None for any other condition."""
    while len(part) > 2 and part[0].text == "(" and part[-1].text == ")" and part[0].kind == "sign":
        part = part[1:-1]
    places = [at for at, token in enumerate(part) if token.text in {"=", "==", "IS"} and token.kind in {"sign", "word"}]
    if len(places) != 1 or any(token.text == "NOT" and token.kind == "word" for token in part):
        return None
    sides = [part[: places[0]], part[places[0] + 1 :]]
    for column, value in (sides, sides[::-1]):
        # `"a"` may also be a text in SQLite, if there is no such column; then it equals no recorded column.
        if column and column[-1].is_name and len(column) in {1, 3} and (len(column) == 1 or column[1].text == "."):
            return _name(column[-1]), value
    return None
