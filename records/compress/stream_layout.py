"""Define the streams of a chunk's data, for Python and, by `clew.records.format.generate_c`, for C."""

from __future__ import annotations

import enum
import struct

MAX_CHUNK = 1 << 17
"""The maximum number of bytes in a chunk; a block with a greater length is damaged."""

COUNTS = struct.Struct("<HHHHHHQQ")
"""The numbers of records, different words, first slots of extensions, different heads of these, and further slots; the unit of
time in ticks; the ticks of the first record and of the last."""


class Stream(enum.IntEnum):
    """The streams of a chunk's data, in their order."""

    NUMBERS = 0  # `COUNTS`
    WORDS = 1  # the different words of records
    WHICH_WORD = 2  # the index of each record's word
    STEPS = 3  # the ticks from record to record, in units of the clock
    TAILS = 4  # always empty
    RESTS = 5  # the remainders of the ticks beyond whole units
    HEADS = 6  # the different heads of extensions
    WHICH_HEAD = 7  # the index of each extension's head
    CODES = 8  # the encoding of each key, by one of the next five streams or by the distance to its last use
    FAR = 9
    FAMILIES = 10
    NEAR = 11
    COUNTED = 12
    NEW = 13
    TEXTS = 14  # the further slots of extensions


STREAMS = len(Stream)
