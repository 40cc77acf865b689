"""The streams of a chunk's data, for Python and, by `clew.records.format.generate_c`, for C."""

from __future__ import annotations

import enum
import struct

MAX_CHUNK = 1 << 17
"""A frame that says it holds more is damaged."""

COUNTS = struct.Struct("<HHHHHHQQ")
"""Records, different words, first slots of extensions, different heads of these, further slots, unit of time in ticks, ticks of
the first record and of the last."""


class Stream(enum.IntEnum):
    """The streams of a chunk's data, in their order."""

    NUMBERS = 0  # `COUNTS`
    WORDS = 1  # the different words of records, and
    WHICH_WORD = 2  # which of them each record has
    STEPS = 3  # ticks from record to record, in units of the clock
    TAILS = 4  # always empty
    RESTS = 5  # what units leave of the ticks
    HEADS = 6  # the different heads of extensions, and
    WHICH_HEAD = 7  # which of them each has
    CODES = 8  # how each key is found
    FAR = 9
    FAMILIES = 10
    NEAR = 11
    COUNTED = 12
    NEW = 13
    TEXTS = 14  # further slots of extensions


STREAMS = len(Stream)
