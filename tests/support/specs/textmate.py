"""Colour a text by a TextMate grammar like an editor: line by line, the earliest match first, and at one place the first rule.
Only features of the grammar of specs are supported: no `while`, and no other grammars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Rule = dict[str, Any]
Coloured = tuple[int, int, str]
"""(start, end, innermost scope)."""


class TextMate:
    def __init__(self, grammar: Rule) -> None:
        self.grammar = grammar

    def coloured(self, text: str) -> Iterator[Coloured]:
        """Yield the parts with a scope in order; an inner part follows its outer part."""
        stack: list[Rule] = [self.grammar]
        base = 0
        for line in text.splitlines(keepends=True):
            yield from self._line(line, base, stack)
            base += len(line)

    def _line(self, line: str, base: int, stack: list[Rule]) -> Iterator[Coloured]:
        place = 0
        while True:
            rules = list(self._flat(stack[-1].get("patterns", ())))
            tried = [(None, re.compile(stack[-1]["end"]))] if "end" in stack[-1] else []
            tried += [(rule, re.compile(rule.get("match") or rule["begin"])) for rule in rules]
            found = [(rule, match) for rule, expression in tried if (match := expression.search(line, place))]
            if not found:
                return
            rule, match = min(found, key=lambda one: one[1].start())
            if rule is None:
                yield from self._captured(stack.pop(), "endCaptures", match, base)
            elif "match" in rule:
                assert match.end() > place, rule
                if "name" in rule:
                    yield base + match.start(), base + match.end(), rule["name"]
                yield from self._captured(rule, "captures", match, base)
            else:
                if "name" in rule and match.end() > match.start() and not rule["name"].startswith("meta."):
                    yield base + match.start(), base + len(line), rule["name"]
                yield from self._captured(rule, "beginCaptures", match, base)
                stack.append(rule)
            place = match.end()

    def _flat(self, rules: list[Rule]) -> Iterator[Rule]:
        for rule in rules:
            if "include" in rule:
                yield from self._flat([self.grammar["repository"][rule["include"].removeprefix("#")]])
            elif "match" in rule or "begin" in rule:
                yield rule
            else:
                yield from self._flat(rule["patterns"])

    def _captured(self, rule: Rule, which: str, match: re.Match[str], base: int) -> Iterator[Coloured]:
        for number, scope in (rule.get(which) or rule.get("captures") or {}).items():
            text = match[int(number)]
            if not text:
                continue
            start = base + match.start(int(number))
            yield start, start + len(text), scope["name"]
            if "patterns" in scope:
                yield from self._line(text, start, [scope])
