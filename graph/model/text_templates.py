"""Texts as templates and parameters, so that many messages of one format cost little; and which texts hold a given one.

A parameter is a longest run of the characters A-Z, a-z, 0-9, _ and NUL that has a digit or NUL in it; the template is the text
with a NUL in each parameter's place. Invariant: template and parameters give the text again, character by character.
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

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

SLOT = "\0"
_AT_ONCE = 1 << 14
"""Texts that are taken apart at once: what is made of them on the way stays in the processor's cache."""
PART = 1 << 20
"""Texts that whoever looks at all of them holds at once."""
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
    """Text i has the template `templates[template[i]]`; its parameters are `parameters[first[i]:first[i + 1]]`."""

    templates: Sequence[str]
    numeric: Mask
    """Per template: have the parameters of all its texts nothing but digits?"""
    template: U32
    parameters: pa.Array
    first: I64

    def text(self, row: int) -> str:
        pieces = self.templates[int(self.template[row])].split(SLOT)
        begin = int(self.first[row])
        values = self.parameters[begin : begin + len(pieces) - 1].to_pylist() if len(pieces) > 1 else []
        return "".join(part for pair in zip(pieces, [*values, ""], strict=True) for part in pair)


def as_strings(start: I64, data: npt.NDArray[np.uint8]) -> pa.Array:
    """Text i is bytes `start[i]` up to `start[i + 1]`; what is no UTF-8, as when it was cut inside a character, is replaced."""
    begin, end = (int(start[0]), int(start[-1])) if len(start) > 1 else (0, 0)
    offsets = np.ascontiguousarray(start - begin, np.int64)
    buffers = pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data[begin:end]))
    column = pa.LargeStringArray.from_buffers(len(start) - 1, *buffers)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        bounds = start.tolist()
        texts = (data[a:b].tobytes().decode("utf-8", "replace") for a, b in itertools.pairwise(bounds))
        return pa.array(texts, pa.large_string())
    return column


class Templates:
    """The templates of texts that are taken apart, some at a time."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._worded: set[int] = set()

    def take_apart(self, texts: pa.Array) -> tuple[U32, pa.Array, I64]:
        """Of large strings the columns of `Templated`: templates, parameters, and where each text's begin."""
        template, counts, parameters = [], [], []
        for begin in range(0, len(texts), _AT_ONCE):
            found, count, values, words = _take_apart(texts[begin : begin + _AT_ONCE])
            known = [self._numbers.setdefault(text, len(self._numbers)) for text in found.dictionary.to_pylist()]
            template.append(np.array(known, np.uint32)[found.indices.to_numpy()])
            self._worded.update(np.unique(template[-1][words]).tolist())
            counts.append(count)
            parameters.append(values)
        first = np.concatenate(([0], np.cumsum(np.concatenate(counts)))) if counts else np.zeros(1)
        return (
            np.concatenate(template) if template else np.zeros(0, np.uint32),
            pa.concat_arrays(parameters) if parameters else pa.array([], pa.large_string()),
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


def take_apart(texts: pa.Array) -> Templated:
    """Of large strings."""
    templates = Templates()
    template, parameters, first = templates.take_apart(texts)
    return Templated(templates.texts, templates.numeric, template, parameters, first)


def _take_apart(texts: pa.Array) -> tuple[Any, I64, pa.Array, I64]:
    """Templates as a dictionary array, the number of parameters of each text, the parameters, and the texts of those
    that are not all digits."""
    start = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[int(start[0]) : int(start[-1])]
    start = start - start[0]
    word = _WORD.take(data)
    begins, ends = word.copy(), word.copy()
    begins[1:] &= ~word[:-1]
    ends[:-1] &= ~word[1:]
    inner = start[1:-1]
    inner = inner[(inner > 0) & (inner < len(data))]
    # A word does not go on in the next text.
    begins[inner] = word[inner]
    ends[inner - 1] = word[inner - 1]
    low, high = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    # Between words nothing is a digit, nor a word's letter.
    varies = np.logical_or.reduceat(_MARK.take(data), low) if len(low) else np.zeros(0, bool)
    lettered = np.logical_or.reduceat(_LETTER.take(data), low) if len(low) else varies
    low, high, lettered = low[varies], high[varies], lettered[varies]
    length = high - low
    values = data[expand(low, high)]
    offsets = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    parameters = pa.LargeStringArray.from_buffers(len(low), pa.py_buffer(offsets), pa.py_buffer(values))
    before = np.searchsorted(low, start)
    texts_of_words = np.searchsorted(before, np.flatnonzero(lettered), "right") - 1
    # What is left of the text, with a NUL for each parameter.
    rest = data.copy()
    rest[low] = 0
    dropped = expand(low + 1, high)
    kept = np.ones(len(data), bool)
    kept[dropped] = False
    gone = np.concatenate(([0], np.cumsum(length - 1)))[before]
    bounds = np.ascontiguousarray(start - gone, np.int64)
    left = pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(bounds), pa.py_buffer(rest[kept]))
    return left.dictionary_encode(), np.diff(before).astype(np.int64), parameters, texts_of_words


def templates_of(texts: Any, rows: I64) -> tuple[U32, Sequence[str]]:
    """The templates of some texts of a column: a code each, and what the codes stand for."""
    if isinstance(texts, TemplatedTexts):
        return texts.templates(rows)
    apart = take_apart(pa.array([texts[row] for row in rows.tolist()], pa.large_string()))
    return apart.template, apart.templates


def put_together(of: Templated, rows: I64) -> pa.Array:
    """The texts of some rows, as large strings."""
    if not len(rows):
        return pa.array([], pa.large_string())
    chosen = of.template[rows]
    numbers, inverse = np.unique(chosen, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[order], np.arange(len(numbers) + 1))
    if len(numbers) > len(rows) // 8:
        return pa.array([of.text(row) for row in rows.tolist()], pa.large_string())
    parts = []
    for place, number in enumerate(numbers.tolist()):
        pieces = of.templates[number].split(SLOT)
        mine = rows[order[bounds[place] : bounds[place + 1]]]
        if len(pieces) == 1:
            parts.append(pa.repeat(pa.scalar(pieces[0], pa.large_string()), len(mine)))
            continue
        first = of.first[mine]
        columns: list[Any] = [pa.scalar(pieces[0], pa.large_string())]
        for slot, piece in enumerate(pieces[1:]):
            columns += [of.parameters.take(pa.array(first + slot)), pa.scalar(piece, pa.large_string())]
        parts.append(pc.binary_join_element_wise(*columns, pa.scalar("", pa.large_string())))
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return pa.concat_arrays(parts).take(pa.array(back))


# Finding

TESTS: dict[str, Callable[[str, str], bool]] = {
    "eq": lambda text, wanted: text == wanted,
    "contains": lambda text, wanted: wanted in text,
    "startswith": lambda text, wanted: text.startswith(wanted),
    "endswith": lambda text, wanted: text.endswith(wanted),
    "matches": lambda text, wanted: re.search(wanted, text) is not None,
    "ieq": lambda text, wanted: text.casefold() == wanted.casefold(),
    "icontains": lambda text, wanted: wanted.casefold() in text.casefold(),
    "istartswith": lambda text, wanted: text.casefold().startswith(wanted.casefold()),
    "iendswith": lambda text, wanted: text.casefold().endswith(wanted.casefold()),
    "imatches": lambda text, wanted: re.search(wanted, text, re.IGNORECASE) is not None,
}
"""What texts can be found by, as it holds for one of them. An i in front leaves the case of letters open."""

_KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda texts, wanted: pc.equal(texts, pa.scalar(wanted, texts.type)),
    "contains": pc.match_substring,
    "startswith": pc.starts_with,
    "endswith": pc.ends_with,
}


def holds(texts: pa.Array, test: str, wanted: str) -> Mask:
    """Per text: does it pass one of the `TESTS`?"""
    if not _writable(wanted) and not test.endswith("matches"):
        return np.zeros(len(texts), bool)  # no text has half a character
    if test in _KERNELS and SLOT not in wanted:
        found: Mask = _KERNELS[test](texts, wanted).to_numpy(zero_copy_only=False)
        return found
    passes = TESTS[test]
    return np.fromiter((passes(text, wanted) for text in texts.to_pylist()), bool, len(texts))


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class TemplatedTexts:
    """The texts of a table of templates and one of parameters, each read when it is first needed."""

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
        return put_together(self._all, rows)

    def templates(self, rows: I64) -> tuple[U32, Sequence[str]]:
        """As `templates_of`; parameters are not read."""
        return self._template[rows], self._templates[0]

    def parts(self) -> Iterator[tuple[int, Templated]]:
        """All texts, some at a time: the first one's row, and they."""
        yield 0, self._all

    def find(self, test: str, wanted: str, /) -> Mask:
        """Per row: does its text pass one of the `TESTS`?

        What a template says alone is asked of it once; of the others only texts are put together of which a parameter has what
        it would have to have.
        """
        if not _writable(wanted) and not test.endswith("matches"):
            return np.zeros(len(self._template), bool)
        each = zip(*self._templates, strict=True)
        verdicts = [_verdict(template, bool(numeric), test, wanted) for template, numeric in each]
        # As bytes: one look-up for each row.
        codes = np.array([_NO if not it.may else _YES if it.must else _MAYBE for it in verdicts], np.uint8)
        code = codes[self._template] if len(codes) else np.zeros(0, np.uint8)
        found: Mask = code == _YES
        if _MAYBE not in codes:
            return found
        if test == "contains" and SLOT not in wanted and _IN_WORD.fullmatch(wanted):
            # It is in a parameter or nowhere.
            hit = np.flatnonzero(holds(self._all.parameters, "contains", wanted))
            rows = np.searchsorted(self._all.first, hit, "right") - 1
            found[rows[code[rows] == _MAYBE]] = True
            return found
        candidates = [
            self._candidates(np.flatnonzero(self._template == number), verdicts[number].crossings)
            for number in np.flatnonzero(codes == _MAYBE).tolist()
        ]
        open_ = np.concatenate(candidates)
        found[open_[holds(self.strings(open_), test, wanted)]] = True
        return found

    def _candidates(self, rows: I64, crossings: Sequence[Crossing]) -> I64:
        """Those rows of one template that have a parameter as one of the crossings wants it; all where none is known."""
        if not crossings or not len(rows):
            return rows
        first = self._all.first[rows]
        fit = np.zeros(len(rows), bool)
        for slot, test, word in crossings:
            fit |= holds(self._all.parameters.take(pa.array(first + slot)), test, word)
        return rows[fit]


_NO, _YES, _MAYBE = 0, 1, 2


class Crossing(NamedTuple):
    """A way in which what is wanted may take part in a parameter: the slot, and what its parameter has to pass."""

    slot: int
    test: str
    word: str


@dataclass(frozen=True)
class _Verdict:
    """Whether texts of a template pass a test: none may, all must, or some may. Those that do, do so in one of the crossings
    when there are any."""

    may: bool
    must: bool = False
    crossings: tuple[Crossing, ...] = ()


def _verdict(template: str, numeric: bool, test: str, wanted: str) -> _Verdict:
    if SLOT not in template:
        passes = TESTS[test](template, wanted)
        return _Verdict(passes, passes)
    if test.endswith("matches") or SLOT in wanted:
        return _Verdict(True)
    pieces = template.split(SLOT)
    folded = test.startswith("i")
    if folded:
        if not (template.isascii() and wanted.isascii()):
            return _Verdict(True)  # another letter may stand for one of a word's
        test, wanted, pieces = test[1:], wanted.casefold(), [piece.casefold() for piece in pieces]
    first, last = pieces[0], pieces[-1]
    parameter = _IN_NUMBER if numeric else _IN_WORD
    match test:
        case "contains":
            if any(wanted in piece for piece in pieces):
                return _Verdict(True, True)
            crossings = tuple(_crossings(pieces, wanted, parameter))
            return _Verdict(bool(crossings), crossings=() if folded else crossings)
        case "startswith":
            if first.startswith(wanted):
                return _Verdict(True, True)
            return _Verdict(wanted.startswith(first) and parameter.match(wanted, len(first)) is not None)
        case "endswith":
            if last.endswith(wanted):
                return _Verdict(True, True)
            before = len(wanted) - len(last) - 1
            return _Verdict(wanted.endswith(last) and parameter.match(wanted, before) is not None)
        case _:
            return _Verdict(wanted.startswith(first) and wanted.endswith(last))


def _crossings(pieces: list[str], wanted: str, parameter: re.Pattern[str]) -> Iterator[Crossing]:
    """The ways in which `wanted` may begin in the piece before a parameter, or in the parameter itself."""
    for slot, (piece, following) in enumerate(itertools.pairwise(pieces)):
        for taken in range(min(len(piece), len(wanted)) + 1):
            word = parameter.match(wanted, taken)
            if word is None or not piece.endswith(wanted[:taken]):
                continue
            rest = wanted[word.end() :]
            if following.startswith(rest) or (following and rest.startswith(following)):
                open_left, open_right = not taken, not rest
                test = ("contains" if open_right else "endswith") if open_left else "startswith" if open_right else "eq"
                yield Crossing(slot, test, word[0])
