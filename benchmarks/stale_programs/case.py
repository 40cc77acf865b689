"""One program with a planted stale or lost update: what to ask, and the writer that a good answer names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).parent
FIRST = 3
"""How many steps of an answer count, besides its verdict."""


@dataclass(frozen=True)
class Case:
    """One program. The last four fields are what a statement of a good answer holds together."""

    name: str
    folder: str
    """"tuning" or "judging"."""
    across: str
    """"threads", "tasks", "SQLite" or "redis": by what the writer is apart from the reader."""
    kind: str
    """The kind of the state, such as "attribute"."""
    question: str
    """The text for `clew why`: a part of the log line or of the exception's message."""
    function: str
    """The function that wrote, by its qualified name."""
    writer: str
    """A regular expression: who called the function, or the thread, task or process in which it ran."""
    state: str
    """A regular expression: the name of the state that was written."""
    line: str
    """The text of the line that wrote it; an answer may name its place instead of the state."""

    @property
    def program(self) -> Path:
        return FOLDER / self.folder / f"{self.name}.py"

    @cached_property
    def place(self) -> str:
        """`FILE:LINE` of the line that wrote the state. Raise `ValueError` unless one line of the function has its text."""
        text = self.program.read_text(encoding="utf-8")
        within = {
            number
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == self._own_name
            for number in range(node.lineno, (node.end_lineno or 0) + 1)
        }
        found = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == self.line]
        found = [number for number in found if number in within]
        if len(found) != 1:
            raise ValueError(f"{self.function} of {self.program.name} has {len(found)} lines {self.line!r}")
        return f"{self.program.name}:{found[0]}"

    @property
    def _own_name(self) -> str:
        return self.function.rsplit(".", 1)[-1]

    def names_function(self, statement: str) -> bool:
        return _says(rf"(\w+\.)*{self._own_name}", statement)

    def names_writer(self, statement: str) -> bool:
        """Return whether one statement tells which function wrote the state, and on whose behalf."""
        state = rf"{re.escape(self.place)}|{self.state}"
        return self.names_function(statement) and _says(self.writer, statement) and _says(state, statement)

    def named_in(self, statements: Iterable[str]) -> bool:
        return any(self.names_writer(statement) for statement in statements)


def _says(pattern: str, statement: str) -> bool:
    return re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", statement) is not None
