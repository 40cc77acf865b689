"""Remembers what rewritten code was made of: for taking the recording out of a running program again, and for libraries that
read bytecode.
"""

from __future__ import annotations

from types import CodeType

_made: dict[int, tuple[CodeType, CodeType]] = {}
"""(rewritten, original) by the rewritten code's id. Both are held: an id must not become another object's."""


def remember(rewritten: CodeType, original: CodeType) -> None:
    """For both, and for the code nested in them, whose constants are in the same places."""
    if rewritten is original or id(rewritten) in _made:
        return
    _made[id(rewritten)] = rewritten, original
    for new, old in zip(rewritten.co_consts, original.co_consts, strict=False):
        if type(new) is CodeType and type(old) is CodeType:
            remember(new, old)


def original_of(code: CodeType) -> CodeType:
    """What `code` was before it was rewritten; `code` itself when it was not."""
    made = _made.get(id(code))
    return made[1] if made else code
