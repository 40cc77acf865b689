"""List the machines of a run and their clocks: `run.machines`."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.model.machines import Machine
from clew.query.plan import Leaf


@dataclass(frozen=True)
class Machines(Leaf):
    """The machines of a run."""

    noun = "machine"

    def answer(self) -> list[Machine]:
        return list(self.run.graph.machines)

    def step(self) -> str:
        return "machines"
