"""Display a comparison's answer at a prompt and in a notebook: its sentence, then the first rows of its table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from clew.graph.render.display import ROWS, html_table, rich_table
from clew.graph.render.table import Table

if TYPE_CHECKING:
    import rich.console


class Shown(ABC):
    """The base class of comparison answers that display themselves."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the whole answer as one sentence."""

    @abstractmethod
    def table(self) -> Table:
        """Return a table with a row per finding."""

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({self.sentence()!r})"

    def __rich__(self) -> rich.console.Group:
        table = self.table()
        return rich_table(self.sentence(), table.head(ROWS), len(table))

    def _repr_html_(self) -> str:
        table = self.table()
        return html_table(self.sentence(), table.head(ROWS), len(table))
