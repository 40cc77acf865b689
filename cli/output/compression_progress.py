"""Wait for the compression of a run, with a progress bar when it takes longer.

Invariant: Ctrl-C ends the waiting, never the compression. The run is readable at any time.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from clew.records.collector.launch import Attendant

DELAY_SECONDS = 1.0
"""Seconds before the bar appears."""


def wait_until_packed(attendant: Attendant, *, quiet: bool) -> bool:
    """Return False when the user interrupted the waiting."""
    try:
        with _bar(shown=not quiet and sys.stderr is not None and sys.stderr.isatty()) as report:
            attendant.finish(report)
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

        def report(done: int, total: int) -> None:
            if not bars and time.monotonic() - started > DELAY_SECONDS:
                bars.append(stack.enter_context(Progress(console=Console(stderr=True), transient=True)))
                bars[0].add_task("clew: compressing", total=total)
            for bar in bars:
                bar.update(bar.task_ids[0], completed=done, total=total)

        yield report
