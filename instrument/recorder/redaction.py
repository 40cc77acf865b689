"""Redact recorded values and texts as the plan requests, before they are stored.

Invariant: every text of a value, a key, a mark, a log line or a command line passes through this module. The key of an
edge is a hash and is not redacted, because both ends must compute the same key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from clew.records.plan.plan import Redact

HIDDEN = "<redacted>"
LOOKAHEAD = 2000
"""The number of characters beyond the recorded text that are searched, for a match that begins in the recorded text."""

_VALUE = r"""(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?:(?:bearer|basic|digest|token)\s+)?[^\s,;&)\]}]+)"""


class Redaction:
    """The names of values to hide, and the patterns to hide in texts."""

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
        """Return whether values of this name are hidden."""
        if self._names is None:
            return False
        if type(name) is bytes:
            name = name.decode("latin-1")
        return type(name) is str and self._names.fullmatch(name) is not None

    def text(self, text: str) -> str:
        """Return `text` with matches of the patterns and values after hidden names (`password=…`) replaced."""
        for pattern, replacement in self._texts:
            text = pattern.sub(replacement, text)
        return text

    def arguments(self, arguments: Iterable[str]) -> list[str]:
        """Return a redacted command line; both `--password=x` and `--password x` are recognised."""
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
_followers: list[Callable[[], object]] = []


def use(redact: Redact | None) -> None:
    """Redact by these rules from now on."""
    _current[0] = Redaction(redact)
    for changed in _followers:
        changed()


def at_change(changed: Callable[[], object]) -> None:
    """Call `changed`, which must not raise, when the rules change: it forgets redacted texts."""
    _followers.append(changed)


def current() -> Redaction:
    return _current[0]
