"""The words of a record: its kinds, and how kind, flags and site are packed into one 64-bit word.

A record is 16 bytes, `ticks: u64` then `word: u64`, little-endian, followed by `word.slots` slots of 16 bytes each (its
*extension*). Invariant: the ticks are stored last, so a record whose ticks are zero was never finished.
"""

import enum
import struct

from clew.records.tuples import NamedTuple

RECORD_SIZE = 16
MAX_SLOTS = 255
EXTENSION_HEAD = struct.Struct("<HHIQ")
"""First slot of an extension: text length in bytes, flags, channel (a string's id, 0 for none), key."""
MAX_TEXT = (MAX_SLOTS - 1) * 16
FLAG_TRUNCATED = 1
"""Extension flag: the text was longer than `MAX_TEXT` (or the plan's bound) and is cut."""
FLAG_FAILED = 2
"""Extension flag: an expression of the plan failed; the text names the error."""
FLAG_AMBIGUOUS = 4
"""Extension flag: the key may name more than one object."""
FLAG_OVER = 16
"""Extension flag of a GAP: it ends here."""
FLAG_BYTES = 8
"""Extension flag of a SEND or JOIN: the key is a stream's, one way, and the text says which of its bytes: "from-to", or "from-"
where nothing is known from there on; "+" before the first of a process. They pair by bytes, not by time."""


class Kind(enum.IntEnum):
    """What happened. Values are part of the file format and never change meaning."""

    # Calls; no extension.
    ENTER = 1
    EXIT = 2  # the call is through: it returned, or an exception told that (an iterator's end, a cancellation)
    UNWIND = 3  # the call ended by another exception
    SUSPEND = 4  # a generator or coroutine yielded
    RESUME = 5

    # Use edges. `key` pairs a target with the last source of the same key before it; `channel` names the mechanism.
    SEND = 8  # defines or forwards an object
    RECEIVE = 9  # opens a detached scope: to the strand's next RECEIVE of the channel, or the enclosing call's end
    JOIN = 10  # adds a cause to the region it happens in; opens nothing
    # Sync edges.
    RELEASE = 11
    ACQUIRE = 12
    # State edges.
    DEFINE = 13
    USE = 14

    # Scopes and strands.
    SCOPE_BEGIN = 16  # an explicit detached scope; a nonzero key is received by it
    SCOPE_END = 17
    STEP_BEGIN = 18  # the thread now runs the strand named by `key`, until STEP_END; steps nest
    STEP_END = 19  # of the innermost step, or of the one that `key` names
    REQUEST = 20  # the enclosing call is a request root (a detached scope); `channel` is its name
    NAME = 21  # the innermost request around it in its strand is called `channel`; the last one holds

    LOG = 24  # `key` is the level number, `channel` the logger, text the message
    MARK = 25  # `channel` is the name, text the value
    ENTITY = 26  # text is JSON: {"event": "position", "entity": …, "values": […]}
    PAYLOAD = 27  # a value seen at the enclosing call: `channel` is its name, text its bounded form
    GAP = 28  # `key` events of this site (0: of any) are missing from here on; text says why

    # Definitions; only in definition chunks, `site` is 0 and `key` is the id that is defined.
    SITE = 64  # text is JSON, see `SiteInfo`
    STRING = 65
    THREAD = 66  # text is JSON: {"name", "native_id", "daemon"}
    STRAND = 67  # text is JSON: {"kind": "task", "name", "thread"}
    NOTE = 68  # text is a sentence for the user: something was chosen, degraded or lost


CALLS = frozenset({Kind.ENTER, Kind.EXIT, Kind.UNWIND, Kind.SUSPEND, Kind.RESUME})


class EdgeKind(enum.IntEnum):
    """How one event depends on another. Fall-through edges and calls are implied, never stored."""

    USE = 1
    SYNC = 2
    STATE = 3


def pack_word(kind: int, site: int = 0, slots: int = 0, flags: int = 0) -> int:
    """Bits 0–7 kind, 8–15 extension slots, 16–31 flags, 32–63 site."""
    return kind | slots << 8 | flags << 16 | site << 32


def pack_extension(key: int, channel: int = 0, text: bytes = b"", flags: int = 0) -> bytes:
    """One extension, a multiple of 16 bytes. Text beyond `MAX_TEXT` bytes is cut and flagged."""
    if len(text) > MAX_TEXT:
        text, flags = text[:MAX_TEXT], flags | FLAG_TRUNCATED
    head = EXTENSION_HEAD.pack(len(text), flags, channel, key & 0xFFFF_FFFF_FFFF_FFFF)
    return head + text + b"\0" * (-len(text) % 16)


class Extension(NamedTuple):
    key: int
    channel: int
    text: str
    flags: int


def unpack_extension(data: bytes | memoryview) -> Extension:
    """Inverse of `pack_extension`; a text that is not UTF-8 (a cut one, say) is decoded with replacement."""
    length, flags, channel, key = EXTENSION_HEAD.unpack_from(data)
    return Extension(key, channel, bytes(data[16 : 16 + length]).decode("utf-8", "replace"), flags)


class SiteInfo(NamedTuple):
    """A code location that can emit events, as the JSON text of a SITE record (same field names)."""

    id: int
    module: str
    qualname: str
    file: str
    line: int
    end_line: int
    kind: str  # "function", "coroutine", "generator", "async_generator", "lambda", "log", "adapter", "annotation", "builtin"
    rule: int = -1  # index of the plan's rule that chose it, -1 for none
    modified: int = 0  # when the file was changed last, ns since 1970, as its code was loaded; 0 when that is not known
    size: int = 0  # of the file then, bytes
