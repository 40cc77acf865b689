"""The table of plain programs: lines that have a plain reason or none, and what an answer must not tell of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Line:
    """One line of a program. No sentence of its verdict may match `never`, which tells what is unrelated to it."""

    program: str
    question: str
    never: str

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.program}.py"

    def false(self, verdict: str) -> list[str]:
        """Return the sentences of a verdict that are no reason of the line."""
        sentences = re.split(r"(?<=\.) (?=[A-Za-z_])", " ".join(verdict.split()))
        return [sentence for sentence in sentences if re.search(self.never, sentence)]


HANDLED = r"waited|slept|cancel|held|closed|Timeout|took an item|handled|continued when|got the result|read bytes"
"""Whatever went on before a line that has nothing to do with it."""

PLAIN = (
    Line("workday", "paper is out", HANDLED),
    Line("workday", "no bicycle", r"nap|visitor|clean\b|label|StringIO|ThreadPool|MainThread cancelled"),
    Line("workday", "milk is out", HANDLED),
    Line("workday", "ink is out", HANDLED),
    Line("hand_over", "nobody is ready", "gate|visitor|porter"),
    Line("hand_over", "the house is full", "gate|visitor|porter|ready"),
    Line("hand_over", "the lamp is broken", "gate|visitor|porter|ready|guest|rooms"),
    Line("starter", "no answer in time", "read bytes|got the result|ThreadPool"),
    Line("starter", "document 2 came late", "read bytes|got the result|ThreadPool|thread client"),
    Line("starter", "no trip today", "read bytes|got the result|ThreadPool|thread client|printer"),
    Line("children", "the roast is burnt", "soup|cook|took an item"),
    Line("children", "the bread takes too long", "soup|cook|took an item|burn"),
    Line("children", "the battery is low", HANDLED),
)
