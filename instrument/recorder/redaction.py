"""Leaves out of recorded values and texts what the plan wants redacted, before anything is stored.

Invariant: whatever becomes the text of a record of a value, a key, a mark, a log line or a command line comes through here.
The key of an edge is a hash and stays what it is: both ends have to agree on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from clew.records.plan.plan import Redact

HIDDEN = "<redacted>"
LOOKAHEAD = 2000
"""So many characters beyond what is recorded are looked at: what begins within it may be longer."""

_VALUE = r"""(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?:(?:bearer|basic|digest|token)\s+)?[^\s,;&)\]}]+)"""


class Redaction:
    """What is hidden: names of values, and what stands in texts."""

    def __init__(self, redact: Redact | None) -> None:
        names, patterns = redact or Redact()
        self.on = bool(names or patterns)
        self._names = re.compile("|".join(map(_glob, names)), re.IGNORECASE) if names else None
        self._texts: list[tuple[re.Pattern[str], str]] = [
            (re.compile(pattern), HIDDEN) for pattern in patterns if _is_sound(pattern)
        ]
        if names:
            either = "|".join(_glob(name, r"[\w.-]*", r"[\w.-]") for name in names)
            named = rf"""(?<![\w-])((?:{either})["']?\s*[=:]\s*(?:b(?=["']))?){_VALUE}"""
            self._texts.append((re.compile(named, re.IGNORECASE), rf"\1{HIDDEN}"))

    def hides(self, name: object) -> bool:
        """Is what has this name hidden?"""
        if self._names is None:
            return False
        if type(name) is bytes:
            name = name.decode("latin-1")
        return type(name) is str and self._names.fullmatch(name) is not None

    def text(self, text: str) -> str:
        """`text` without what is hidden in it: what matches a pattern, and what a hidden name is said to be."""
        for pattern, instead in self._texts:
            text = pattern.sub(instead, text)
        return text

    def arguments(self, arguments: Iterable[str]) -> list[str]:
        """A command line without what is hidden in it: `--password=x` and `--password x` alike."""
        shown: list[str] = []
        hidden = False
        for argument in arguments:
            shown.append(HIDDEN if hidden else self.text(argument))
            hidden = argument.startswith("-") and "=" not in argument and self.hides(argument.lstrip("-"))
        return shown


def _glob(name: str, any_text: str = ".*", any_character: str = ".") -> str:
    parts = re.split(r"(\*|\?)", name)
    return "".join({"*": any_text, "?": any_character}.get(part) or re.escape(part) for part in parts)


def _is_sound(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


_current = [Redaction(None)]


def use(redact: Redact | None) -> None:
    """From here on this is what the plan wants."""
    _current[0] = Redaction(redact)


def current() -> Redaction:
    return _current[0]
