"""The state of a walk through a run: the current event, the visited events, and the steps back and forth.

The command line and plain language-server commands use it; the panel and the extension have their own state in
TypeScript. Invariant: `result` is about the current event of the walk; a step without an end changes only the reported
sentence.
"""

from __future__ import annotations

from dataclasses import replace

from clew.records.errors import ClewError
from clew.server.protocol.shared import Target
from clew.server.protocol.views.walk import WalkParams, WalkResult
from clew.server.session.session import Session, Task

STEPS = ("cause", "effect", "previous", "next", "out", "in", "back", "forward")
"""The graph's ways (`clew.graph.ops.causes.navigation.WAYS`), and steps along the visited events."""
MAX_VISITED = 1000
"""Maximum number of visited events."""


class Walker:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.result: WalkResult | None = None
        """The last answer; None before the walk starts."""
        self._visited: list[int] = []
        self._place = -1

    def start(self, params: WalkParams, task: Task) -> WalkResult:
        """Start again. If there is no event to start from, the previous walk continues."""
        result = self._view(params, task)
        if result.card is not None:
            self.result, self._visited, self._place = result, [result.card.event], 0
        return result

    def step(self, name: str, task: Task, choice: int = 0) -> WalkResult:
        """Make one step of `STEPS`. Raises `ClewError` before the walk starts."""
        if self.result is None or self.result.card is None:
            raise ClewError("no walk is open; start one at a log line or a function")
        if name in ("back", "forward"):
            return self._turn(-1 if name == "back" else 1, task)
        result = self._ask(self.result.card.event, name, choice, task)
        if result.moved and result.card is not None:
            self._visited = [*self._visited[: self._place + 1], result.card.event][-MAX_VISITED:]
            self._place = len(self._visited) - 1
        self.result = result
        return result

    def _turn(self, by: int, task: Task) -> WalkResult:
        name, place = "back" if by < 0 else "forward", self._place + by
        if not 0 <= place < len(self._visited):
            assert self.result is not None
            reason = "the walk starts here" if by < 0 else "this is the last visited event"
            return replace(self.result, step=name, moved=False, sentence=reason, ends=[], gaps=[])
        self._place = place
        self.result = replace(self._ask(self._visited[place], "here", 0, task), step=name)
        return self.result

    def _ask(self, event: int, step: str, choice: int, task: Task) -> WalkResult:
        assert self.result is not None
        asked = WalkParams(Target(event=event), self.result.run.id, choice=choice)
        return self._view(replace(asked, step=step), task)  # type: ignore[arg-type]  # one of its words

    def _view(self, params: WalkParams, task: Task) -> WalkResult:
        from clew.server.views.walk import walk_view  # this loads the graph, which a starting server avoids

        return walk_view(self.session, params, task)
