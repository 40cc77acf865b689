"""Waits of threads: which functions of the standard library wait for which object.

A wait is a WAIT record before the thread blocks, and a WAKE record after it. The recorder writes them for every lock that it
sees a thread block on (`csrc/locks`, `csrc/facts`). A function given to `waits_in` waits by such a lock, which is a detail of
its own: its wait is for its object.

Invariant: a call that does not block leaves no record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern

Describe = Callable[[Any], tuple[int, bytes] | tuple[int, bytes, int]]
"""Returns an object's key and further fields of the WAIT's text: JSON, each field with a comma after it; perhaps also a channel
that replaces that of the rule. A wait for an object with the key 0 is not recorded."""

_rules: dict[tuple[str, str], tuple[int, str, str, str, Describe | None, bool] | None] = {}


def waits_in(  # noqa: PLR0917  # the fields of a rule, in their order
    function: Any, channel: str, subject: str = "self", limit: str = "timeout", capacity: str = "",
    describe: Describe | None = None, plain: bool = False,
) -> None:  # fmt: skip
    """Record the waits of a Python function as waits for its local `subject`, with the time limit in its local `limit`.

    An empty channel records nothing. `capacity` is the attribute of the object that has its number of slots. With `plain`,
    the function waits by a lock that serves other purposes too. The outermost of several nested functions names the wait.
    """
    code = function.__code__
    number = intern(channel) if channel else 0
    _rules[code.co_filename, code.co_qualname] = number, subject, limit, capacity, describe, plain
    core.watch_waits(_rules)


def pass_waits_on(function: Any) -> None:
    """Let the caller of a Python function name the waits in it."""
    code = function.__code__
    _rules[code.co_filename, code.co_qualname] = None
    core.watch_waits(_rules)
