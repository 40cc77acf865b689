"""List the gaps, where events are missing: `run.gaps`."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.model.gaps import gaps
from clew.graph.model.graph import Gap
from clew.query.plan import Leaf


@dataclass(frozen=True)
class Gaps(Leaf):
    """The gaps of a run."""

    noun = "gap"

    def answer(self) -> list[Gap]:
        return gaps(self.run.graph)

    def step(self) -> str:
        return "gaps"
