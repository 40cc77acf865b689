"""Waits for a run to be packed, with a progress bar when that takes a while.

Invariant: a Ctrl-C ends the waiting, never the packing, and the run can be read at any time.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from clew.records.collector import Attendant

PATIENCE = 1.0
"""Seconds before anything is shown."""


def wait_until_packed(attendant: Attendant, *, quiet: bool) -> bool:
    """False when the user did not want to wait."""
    try:
        with _bar(shown=not quiet and sys.stderr is not None and sys.stderr.isatty()) as told:
            attendant.finish(told)
    except KeyboardInterrupt:
        return False
    return True


@contextlib.contextmanager
def _bar(*, shown: bool) -> Iterator[Callable[[int, int], None]]:
    if not shown:
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        bars: list[Progress] = []

        def told(done: int, total: int) -> None:
            if not bars and time.monotonic() - started > PATIENCE:
                bars.append(stack.enter_context(Progress(console=Console(stderr=True), transient=True)))
                bars[0].add_task("clew: packing", total=total)
            for bar in bars:
                bar.update(bar.task_ids[0], completed=done, total=total)

        yield told
