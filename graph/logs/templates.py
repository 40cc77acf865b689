"""Find the message templates that a line can match, with an index by each template's rarest word, so that few are
tried.

A template is the first line of a message, with a NUL for each parameter (`clew.graph.model.text_templates`).
Invariant: every template that matches the line is found, whatever their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from clew.graph.model.text_templates import SLOT
from clew.graph.runtime.arrow_arrays import from_texts, to_numbers

_NO_WORD = r"[^A-Za-z_\x80-\x{10FFFF}]+"
"""The Arrow pattern of the text between words. Digits occur only in parameters, which are not words."""
_WORDS = re.compile(r"[A-Za-z0-9_]+|[^\x00-\x7f]+")
_PARAMETER = r"((?=[A-Za-z_]*[0-9\0])[A-Za-z0-9_\0]+)(?![A-Za-z0-9_])"
_BORDER = r"(?<![A-Za-z0-9_])"


class Match(NamedTuple):
    """An occurrence of a template in a line."""

    template: int
    begin: int
    end: int
    """The position in the line where the message ends."""
    parameters: tuple[str, ...]


class TemplateIndex:
    """An index of templates by their rarest words."""

    def __init__(self, templates: Sequence[str]) -> None:
        self.templates = templates
        # Parts of a word that a non-ASCII letter separates are also separate words.
        words = pc.split_pattern_regex(
            pc.replace_substring_regex(from_texts(templates), r"([\x80-\x{10FFFF}]+)", r" \1 "),
            _NO_WORD,
        )
        flat = words.flatten().dictionary_encode()
        codes = to_numbers(flat.indices).astype(np.int64)
        texts = flat.dictionary.to_pylist()
        counts = np.bincount(codes, minlength=len(texts))
        if "" in texts:
            counts[texts.index("")] = len(codes) + 1
        of = np.repeat(np.arange(len(templates)), to_numbers(pc.list_value_length(words)))
        # Choose for each template the word that occurs in the fewest templates.
        order = np.lexsort((counts[codes], of))
        first = np.flatnonzero(np.diff(of[order], prepend=-1))
        rarest = codes[order][first]
        wordless = counts[rarest] > len(codes)
        self._wordless: list[int] = np.flatnonzero(wordless).tolist()
        worded = np.flatnonzero(~wordless)
        by_word = worded[np.argsort(rarest[worded], kind="stable")]
        self._by_word = by_word
        self._bounds = np.searchsorted(rarest[by_word], np.arange(len(texts) + 1))
        self._codes = {text: code for code, text in enumerate(texts) if text}
        self._pattern = lru_cache(4096)(self._compiled)

    def __len__(self) -> int:
        return len(self.templates)

    def candidates(self, line: str) -> Iterator[int]:
        """Yield the templates whose rarest word is in the line, and the templates without words."""
        for word in dict.fromkeys(_WORDS.findall(line)):
            code = self._codes.get(word)
            if code is not None:
                yield from self._by_word[self._bounds[code] : self._bounds[code + 1]].tolist()
        yield from self._wordless

    def matches(self, line: str) -> Iterator[Match]:
        """Yield the places in a line where messages of any template may be."""
        for number in self.candidates(line):
            template = self.templates[number]
            if SLOT not in template:
                # If a message without parameters occurs twice, the later occurrence is taken.
                begin = line.rfind(template)
                if begin >= 0:
                    yield Match(number, begin, begin + len(template), ())
                continue
            if any(piece not in line for piece in template.split(SLOT)):
                continue
            for found in self._pattern(number).finditer(line):
                yield Match(number, found.start(), found.end(), found.groups())

    def _compiled(self, number: int) -> re.Pattern[str]:
        pieces = self.templates[number].split(SLOT)
        pattern = _PARAMETER.join(re.escape(piece) for piece in pieces)
        return re.compile((_BORDER if not pieces[0] else "") + pattern)
