"""Stores texts as templates and parameters, so that many messages of one format take little space, and searches them.

A parameter is a maximal run of the characters A-Z, a-z, 0-9, _ and NUL that contains a digit or NUL. The template is the text
with each parameter replaced by a NUL. Invariant: template and parameters restore the text exactly.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clew.graph.model.array_utils import expand
from clew.graph.runtime.arrow_arrays import from_numbers, from_texts, text, to_numbers

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

SLOT = "\0"
_AT_ONCE = 1 << 14
"""The number of texts to split at a time, so that temporary arrays stay in the processor's cache."""
PART = 1 << 20
"""The number of texts to hold in memory at a time when reading all texts."""
_DIGIT = np.zeros(256, bool)
_DIGIT[ord("0") : ord("9") + 1] = True
_MARK = _DIGIT.copy()
_MARK[0] = True
_WORD = _MARK.copy()
_WORD[[ord("_"), *range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)]] = True
_LETTER = _WORD & ~_DIGIT
_IN_WORD, _IN_NUMBER = re.compile(r"[A-Za-z0-9_\0]+"), re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Templated:
    """Texts as templates: text i has `templates[template[i]]` with the parameters `parameters[first[i]:first[i + 1]]`."""

    templates: Sequence[str]
    numeric: Mask
    """Whether, per template, the parameters of all its texts have only digits."""
    template: U32
    parameters: pa.Array
    first: I64

    def text(self, row: int) -> str:
        pieces = self.templates[int(self.template[row])].split(SLOT)
        begin = int(self.first[row])
        values = self.parameters[begin : begin + len(pieces) - 1].to_pylist() if len(pieces) > 1 else []
        return "".join(part for pair in zip(pieces, [*values, ""], strict=True) for part in pair)


def as_strings(start: I64, data: npt.NDArray[np.uint8]) -> pa.Array:
    """Return the texts `data[start[i]:start[i + 1]]`. Invalid UTF-8, such as a character cut at the end, is replaced."""
    begin, end = (int(start[0]), int(start[-1])) if len(start) > 1 else (0, 0)
    offsets = np.ascontiguousarray(start - begin, np.int64)
    buffers = pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data[begin:end]))
    column = pa.LargeStringArray.from_buffers(len(start) - 1, *buffers)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        bounds = start.tolist()
        texts = (data[a:b].tobytes().decode("utf-8", "replace") for a, b in itertools.pairwise(bounds))
        return from_texts(texts)
    return column


class Templates:
    """Collects templates while texts are split in several batches."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._worded: set[int] = set()

    def to_templates(self, texts: pa.Array) -> tuple[U32, pa.Array, I64]:
        """Split large strings. Return the columns `template`, `parameters` and `first` of `Templated`."""
        template, counts, parameters = [], [], []
        for begin in range(0, len(texts), _AT_ONCE):
            found, count, values, words = _split_texts(texts[begin : begin + _AT_ONCE])
            known = [self._numbers.setdefault(text, len(self._numbers)) for text in found.dictionary.to_pylist()]
            template.append(np.array(known, np.uint32)[to_numbers(found.indices)])
            self._worded.update(np.unique(template[-1][words]).tolist())
            counts.append(count)
            parameters.append(values)
        first = np.concatenate(([0], np.cumsum(np.concatenate(counts)))) if counts else np.zeros(1)
        return (
            np.concatenate(template) if template else np.zeros(0, np.uint32),
            pa.concat_arrays(parameters) if parameters else from_texts(()),
            first.astype(np.int64),
        )

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)

    @property
    def numeric(self) -> Mask:
        """See `Templated`."""
        numeric = np.ones(len(self._numbers), bool)
        numeric[list(self._worded)] = False
        return numeric


def to_templates(texts: pa.Array) -> Templated:
    """Split large strings into templates and parameters."""
    templates = Templates()
    template, parameters, first = templates.to_templates(texts)
    return Templated(templates.texts, templates.numeric, template, parameters, first)


def _split_texts(texts: pa.Array) -> tuple[Any, I64, pa.Array, I64]:
    """Split large strings of one batch.

    Return the templates as a dictionary array, the number of parameters per text, the parameters, and the text of each
    parameter that is not all digits.
    """
    start = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[int(start[0]) : int(start[-1])]
    start = start - start[0]
    word = _WORD.take(data)
    begins, ends = word.copy(), word.copy()
    begins[1:] &= ~word[:-1]
    ends[:-1] &= ~word[1:]
    inner = start[1:-1]
    inner = inner[(inner > 0) & (inner < len(data))]
    # A word ends with its text.
    begins[inner] = word[inner]
    ends[inner - 1] = word[inner - 1]
    low, high = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    # Reducing up to the next word's start is safe: the bytes between words are neither digits nor letters.
    varies = np.logical_or.reduceat(_MARK.take(data), low) if len(low) else np.zeros(0, bool)
    lettered = np.logical_or.reduceat(_LETTER.take(data), low) if len(low) else varies
    low, high, lettered = low[varies], high[varies], lettered[varies]
    length = high - low
    values = data[expand(low, high)]
    offsets = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    parameters = pa.LargeStringArray.from_buffers(len(low), pa.py_buffer(offsets), pa.py_buffer(values))
    before = np.searchsorted(low, start)
    texts_of_words = np.searchsorted(before, np.flatnonzero(lettered), "right") - 1
    # The templates: a NUL replaces each parameter.
    replaced = data.copy()
    replaced[low] = 0
    is_template = np.ones(len(data), bool)
    is_template[expand(low + 1, high)] = False
    removed = np.concatenate(([0], np.cumsum(length - 1)))[before]
    bounds = np.ascontiguousarray(start - removed, np.int64)
    template = pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(bounds), pa.py_buffer(replaced[is_template]))
    return template.dictionary_encode(), np.diff(before).astype(np.int64), parameters, texts_of_words


def templates_of(texts: Any, rows: I64) -> tuple[U32, Sequence[str]]:
    """Return the templates of some texts of a column: a code per text, and the templates by code."""
    if isinstance(texts, TemplatedTexts):
        return texts.templates(rows)
    apart = to_templates(from_texts(texts[row] for row in rows.tolist()))
    return apart.template, apart.templates


def from_templates(of: Templated, rows: I64) -> pa.Array:
    """Return the texts of some rows as large strings."""
    if not len(rows):
        return from_texts(())
    chosen = of.template[rows]
    numbers, inverse = np.unique(chosen, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[order], np.arange(len(numbers) + 1))
    if len(numbers) > len(rows) // 8:
        return from_texts(of.text(row) for row in rows.tolist())
    parts = []
    for place, number in enumerate(numbers.tolist()):
        pieces = of.templates[number].split(SLOT)
        mine = rows[order[bounds[place] : bounds[place + 1]]]
        if len(pieces) == 1:
            parts.append(pa.repeat(text(pieces[0]), len(mine)))
            continue
        first = of.first[mine]
        columns: list[Any] = [text(pieces[0])]
        for slot, piece in enumerate(pieces[1:]):
            columns += [of.parameters.take(from_numbers(first + slot)), text(piece)]
        parts.append(pc.binary_join_element_wise(*columns, text("")))
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return pa.concat_arrays(parts).take(from_numbers(back))


# Finding

TESTS: dict[str, Callable[[str, str], bool]] = {
    "eq": lambda text, pattern: text == pattern,
    "contains": lambda text, pattern: pattern in text,
    "startswith": lambda text, pattern: text.startswith(pattern),
    "endswith": lambda text, pattern: text.endswith(pattern),
    "matches": lambda text, pattern: re.search(pattern, text) is not None,
    "ieq": lambda text, pattern: text.casefold() == pattern.casefold(),
    "icontains": lambda text, pattern: pattern.casefold() in text.casefold(),
    "istartswith": lambda text, pattern: text.casefold().startswith(pattern.casefold()),
    "iendswith": lambda text, pattern: text.casefold().endswith(pattern.casefold()),
    "imatches": lambda text, pattern: re.search(pattern, text, re.IGNORECASE) is not None,
}
"""The tests that texts can be searched by, for one text. The prefix i ignores case."""

_KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda texts, pattern: pc.equal(texts, text(pattern)),
    "contains": pc.match_substring,
    "startswith": pc.starts_with,
    "endswith": pc.ends_with,
}


def holds(texts: pa.Array, test: str, pattern: str) -> Mask:
    """Return, per text, whether it passes `test`, one of the `TESTS`."""
    if not _encodable(pattern) and not test.endswith("matches"):
        return np.zeros(len(texts), bool)  # texts never have half a surrogate pair
    if test in _KERNELS and SLOT not in pattern:
        found: Mask = to_numbers(_KERNELS[test](texts, pattern))
        return found
    passes = TESTS[test]
    return np.fromiter((passes(text, pattern) for text in texts.to_pylist()), bool, len(texts))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class TemplatedTexts:
    """Texts from a table of templates and a table of parameters, each read on first use."""

    def __init__(
        self,
        templates: Callable[[], tuple[Sequence[str], Mask]],
        template: Callable[[], U32],
        parameters: Callable[[], tuple[pa.Array, I64]],
    ) -> None:
        self._read_templates, self._read_template, self._read_parameters = templates, template, parameters

    @cached_property
    def _templates(self) -> tuple[Sequence[str], Mask]:
        return self._read_templates()

    @cached_property
    def _template(self) -> U32:
        return self._read_template()

    @cached_property
    def _all(self) -> Templated:
        return Templated(*self._templates, self._template, *self._read_parameters())

    def __len__(self) -> int:
        return len(self._template)

    def __getitem__(self, row: int, /) -> str:
        return self._all.text(row)

    def strings(self, rows: I64) -> pa.Array:
        return from_templates(self._all, rows)

    def templates(self, rows: I64) -> tuple[U32, Sequence[str]]:
        """Return the same as `templates_of`, without reading parameters."""
        return self._template[rows], self._templates[0]

    def parts(self) -> Iterator[tuple[int, Templated]]:
        """Yield all texts in one chunk, with row 0."""
        yield 0, self._all

    def find(self, test: str, pattern: str, /) -> Mask:
        """Return, per row, whether its text passes `test`, one of the `TESTS`.

        Each template is tested once. Where the template does not decide, only texts with a suitable parameter are restored.
        """
        if not _encodable(pattern) and not test.endswith("matches"):
            return np.zeros(len(self._template), bool)
        each = zip(*self._templates, strict=True)
        verdicts = [_verdict(template, bool(numeric), test, pattern) for template, numeric in each]
        # Codes per template make this one table look-up per row.
        codes = np.array([_NO if not it.may else _YES if it.must else _MAYBE for it in verdicts], np.uint8)
        code = codes[self._template] if len(codes) else np.zeros(0, np.uint8)
        found: Mask = code == _YES
        if _MAYBE not in codes:
            return found
        if test == "contains" and SLOT not in pattern and _IN_WORD.fullmatch(pattern):
            # Only a parameter can contain it.
            hit = np.flatnonzero(holds(self._all.parameters, "contains", pattern))
            rows = np.searchsorted(self._all.first, hit, "right") - 1
            found[rows[code[rows] == _MAYBE]] = True
            return found
        candidates = [
            self._candidates(np.flatnonzero(self._template == number), verdicts[number].crossings)
            for number in np.flatnonzero(codes == _MAYBE).tolist()
        ]
        open_ = np.concatenate(candidates)
        found[open_[holds(self.strings(open_), test, pattern)]] = True
        return found

    def _candidates(self, rows: I64, crossings: Sequence[Crossing]) -> I64:
        """Return the rows of one template with a parameter that fits one of the crossings; all rows without crossings."""
        if not crossings or not len(rows):
            return rows
        first = self._all.first[rows]
        fit = np.zeros(len(rows), bool)
        for slot, test, word in crossings:
            fit |= holds(self._all.parameters.take(from_numbers(first + slot)), test, word)
        return rows[fit]


_NO, _YES, _MAYBE = 0, 1, 2


class Crossing(NamedTuple):
    """A way in which the searched text may overlap a parameter: the slot, and the test that its parameter has to pass."""

    slot: int
    test: str
    word: str


@dataclass(frozen=True)
class _Verdict:
    """Whether texts of a template pass a test: none (not `may`), all (`must`), or some.

    If there are crossings, every text that passes matches one of them.
    """

    may: bool
    must: bool = False
    crossings: tuple[Crossing, ...] = ()


def _verdict(template: str, numeric: bool, test: str, pattern: str) -> _Verdict:
    if SLOT not in template:
        passes = TESTS[test](template, pattern)
        return _Verdict(passes, passes)
    if test.endswith("matches") or SLOT in pattern:
        return _Verdict(True)
    pieces = template.split(SLOT)
    folded = test.startswith("i")
    if folded:
        if not (template.isascii() and pattern.isascii()):
            return _Verdict(True)  # case folding may map other characters to ASCII letters
        test, pattern, pieces = test[1:], pattern.casefold(), [piece.casefold() for piece in pieces]
    first, last = pieces[0], pieces[-1]
    parameter = _IN_NUMBER if numeric else _IN_WORD
    match test:
        case "contains":
            if any(pattern in piece for piece in pieces):
                return _Verdict(True, True)
            crossings = tuple(_crossings(pieces, pattern, parameter))
            return _Verdict(bool(crossings), crossings=() if folded else crossings)
        case "startswith":
            if first.startswith(pattern):
                return _Verdict(True, True)
            return _Verdict(pattern.startswith(first) and parameter.match(pattern, len(first)) is not None)
        case "endswith":
            if last.endswith(pattern):
                return _Verdict(True, True)
            before = len(pattern) - len(last) - 1
            return _Verdict(pattern.endswith(last) and parameter.match(pattern, before) is not None)
        case _:
            return _Verdict(pattern.startswith(first) and pattern.endswith(last))


def _crossings(pieces: list[str], pattern: str, parameter: re.Pattern[str]) -> Iterator[Crossing]:
    """Yield the ways in which `pattern` may begin in the text before a parameter, or in the parameter itself."""
    for slot, (piece, following) in enumerate(itertools.pairwise(pieces)):
        for taken in range(min(len(piece), len(pattern)) + 1):
            word = parameter.match(pattern, taken)
            if word is None or not piece.endswith(pattern[:taken]):
                continue
            rest = pattern[word.end() :]
            if following.startswith(rest) or (following and rest.startswith(following)):
                open_left, open_right = not taken, not rest
                test = ("contains" if open_right else "endswith") if open_left else "startswith" if open_right else "eq"
                yield Crossing(slot, test, word[0])
