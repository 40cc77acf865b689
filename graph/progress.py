"""How far a piece of work is, for whoever shows it.

Invariant: work that hears of nobody's wish to stop goes on; whoever has one raises it from the callback, and nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is read or made (a file's name, say), how much of it is done, and how much there is. The name is "" when all
is done. What it raises ends the work."""


def nobody(_name: str, _done: int, _size: int) -> None:
    """A progress that nobody looks at."""
