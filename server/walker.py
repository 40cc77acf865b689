"""A walk through a run as it is kept: where it stands, what it visited, back and forth in that.

The command line and plain language-server commands walk by it; the panel and the extension keep the same in TypeScript.
Invariant: `result` is about the event where the walk stands; a step that leads nowhere changes nothing but what is said.
"""

from __future__ import annotations

from dataclasses import replace

from clew.records.errors import ClewError
from clew.server.protocol import Target, WalkParams, WalkResult
from clew.server.session import Session, Task

STEPS = ("cause", "effect", "previous", "next", "out", "in", "back", "forward")
"""The graph's ways (`clew.graph.ops.moves.WAYS`), and along what was visited."""
KEPT = 1000
"""Events that can be gone back to."""


class Walker:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.result: WalkResult | None = None
        """The last answer; None before the walk has begun."""
        self._visited: list[int] = []
        self._place = -1

    def start(self, params: WalkParams, task: Task) -> WalkResult:
        """Begins anew. Where there is nothing to walk from, the walk before goes on."""
        result = self._view(params, task)
        if result.card is not None:
            self.result, self._visited, self._place = result, [result.card.event], 0
        return result

    def step(self, name: str, task: Task, choice: int = 0) -> WalkResult:
        """One step, one of `STEPS`. Raises `ClewError` before the walk has begun."""
        if self.result is None or self.result.card is None:
            raise ClewError("no walk has begun; begin one at a log line or a function")
        if name in ("back", "forward"):
            return self._turn(-1 if name == "back" else 1, task)
        result = self._ask(self.result.card.event, name, choice, task)
        if result.moved and result.card is not None:
            self._visited = [*self._visited[: self._place + 1], result.card.event][-KEPT:]
            self._place = len(self._visited) - 1
        self.result = result
        return result

    def _turn(self, by: int, task: Task) -> WalkResult:
        name, place = "back" if by < 0 else "forward", self._place + by
        if not 0 <= place < len(self._visited):
            assert self.result is not None
            said = "the walk began here" if by < 0 else "nothing was visited after this"
            return replace(self.result, step=name, moved=False, sentence=said, ends=[], gaps=[])
        self._place = place
        self.result = replace(self._ask(self._visited[place], "here", 0, task), step=name)
        return self.result

    def _ask(self, event: int, step: str, choice: int, task: Task) -> WalkResult:
        assert self.result is not None
        asked = WalkParams(Target(event=event), self.result.run.id, choice=choice)
        return self._view(replace(asked, step=step), task)  # type: ignore[arg-type]  # one of its words

    def _view(self, params: WalkParams, task: Task) -> WalkResult:
        from clew.server.panel.walk import walk_view  # which loads the graph; a server that starts does without

        return walk_view(self.session, params, task)
