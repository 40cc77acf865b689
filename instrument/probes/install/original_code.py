"""Store the original of rewritten code.

It is needed to remove the recording from a running program, and for libraries that read bytecode.
"""

from __future__ import annotations

from types import CodeType

_made: dict[int, tuple[CodeType, CodeType]] = {}
"""(rewritten, original) by the id of the rewritten code, with references to both so that ids are not reused."""


def remember(rewritten: CodeType, original: CodeType) -> None:
    """Store the original of `rewritten` and of its nested code, which has the same constant indexes in both."""
    if rewritten is original or id(rewritten) in _made:
        return
    _made[id(rewritten)] = rewritten, original
    for new, old in zip(rewritten.co_consts, original.co_consts, strict=False):
        if type(new) is CodeType and type(old) is CodeType:
            remember(new, old)


def original_of(code: CodeType) -> CodeType:
    """Return the original of rewritten code; return `code` itself if it was not rewritten."""
    made = _made.get(id(code))
    return made[1] if made else code
