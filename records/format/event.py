"""Define the words of a record: its kinds, and the layout of kind, flags and site in one 64-bit word.

A record is 16 bytes, `ticks: u64` then `word: u64`, little-endian, followed by `word.slots` slots of 16 bytes each (its
*extension*). Invariant: the ticks are stored last, so a record whose ticks are zero was never completed.
"""

import enum
import struct

from clew.records.fast_namedtuple import NamedTuple

RECORD_SIZE = 16
MAX_SLOTS = 255
EXTENSION_HEAD = struct.Struct("<HHIQ")
"""First slot of an extension: text length in bytes, flags, channel (a string's id, 0 for none), key."""
EXTENSION_FIELDS = ("length", "flags", "channel", "key")
MAX_TEXT = (MAX_SLOTS - 1) * 16
FLAG_TRUNCATED = 1
"""Extension flag: the text was longer than `MAX_TEXT` (or the plan's bound) and was cut."""
FLAG_FAILED = 2
"""Extension flag: an expression of the plan failed; the text names the error."""
FLAG_AMBIGUOUS = 4
"""Extension flag: the key may name more than one object."""
FLAG_OVER = 16
"""Extension flag of a GAP: the gap ends here."""
UNFOLLOWED = "unfollowed"
"""Channel of a GAP that has no missing events: until its end, the thread runs code whose order of execution is not
followed, such as greenlets. The text is a sentence for the user."""
FLAG_BYTES = 8
"""Extension flag of a SEND or JOIN: the key names one direction of a stream, and the text gives the range of bytes:
"from-to", or "from-" where the end is unknown; "+" precedes the first range of a process. Such records pair by
bytes, not by time."""


FLAG_BACK = 32
"""Extension flag of a SEND: the item was taken from the same queue before and now goes back to it, as in a pool."""
DELAY_BITS = 48
"""The bits of a PAUSE's key that are nanoseconds."""


class Kind(enum.IntEnum):
    """The kind of a record. Values are part of the file format and never change meaning."""

    # Calls; no extension.
    ENTER = 1
    EXIT = 2  # the call is complete: it returned, or raised an exception that signals that (an iterator's end, a cancellation)
    UNWIND = 3  # the call ended by another exception
    SUSPEND = 4  # a generator or coroutine yielded
    RESUME = 5

    # Use edges. `key` pairs a target with the last preceding source of the same key; `channel` names the mechanism.
    SEND = 8  # defines or forwards an object
    RECEIVE = 9  # opens a detached scope: until the strand's next RECEIVE of the channel, or the enclosing call's end
    JOIN = 10  # adds a cause to its enclosing region; opens no scope
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
    STEP_END = 19  # of the innermost step, or of the step named by `key`
    REQUEST = 20  # the enclosing call is a request root (a detached scope); `channel` is its name
    NAME = 21  # names the innermost enclosing request of its strand `channel`; the last name wins

    LOG = 24  # `key` is the level number, `channel` the logger, text the message
    MARK = 25  # `channel` is the name, text the value
    ENTITY = 26  # text is JSON: {"event": "position", "entity": …, "values": […]}
    PAYLOAD = 27  # a value seen at the enclosing call: `channel` is its name, text its bounded form
    GAP = 28  # `key` events of this site (0: of any) are missing after this; text gives the reason

    # Facts: what an answer tells about a wait, an exception, a cancellation or a line of output. No scope, no edge. Their
    # texts are those of `clew.records.format.facts`; the site is a line of the program.
    WAIT = 29  # the strand begins to wait for the object `key`; `channel` is the mechanism
    WAKE = 30  # it waits no longer; the same key and channel
    HOLD = 31  # the strand takes the resource `key`, or one of its slots
    RETURN = 32  # it gives the resource back
    EXCEPTION = 33  # `key` identifies the exception in its process, `channel` is its type
    CANCEL = 34  # the strand asks for the cancellation of the strand `key`; `channel` is the mechanism
    ENDED = 35  # the task `key` ended by an exception or by cancellation
    OUTPUT = 36  # text is a line that was written to the descriptor `key`

    # States: what functions write, and which objects they get; see `clew.records.format.states`. No scope, no edge.
    WRITE = 37  # the object `key` is written: `channel` is the attribute, method or variable, text the new value
    GIVEN = 38  # the call got the object `key` as its parameter or closure variable `channel`
    # A row of a database or a key of a server, by which processes share a state; see `clew.records.format.stored_states`.
    ACCESS = 39  # the stored state `key` is read or written, or a transaction of the connection `key` ends
    # The thread did not run from here until its next record. The lower `DELAY_BITS` of `key` are the ns of that in which it was
    # ready and waited for a processor; the bits above are the times that it blocked.
    PAUSE = 40

    # Definitions; only in definition chunks, with `site` 0 and the defined id in `key`.
    SITE = 64  # text is JSON, see `SiteInfo`
    STRING = 65
    THREAD = 66  # text is JSON: {"name", "native_id", "daemon"}
    STRAND = 67  # text is JSON: {"kind": "task", "name", "thread"}
    NOTE = 68  # text is a sentence for the user about a decision, a degradation or a loss


FACTS = frozenset({
    Kind.WAIT, Kind.WAKE, Kind.HOLD, Kind.RETURN, Kind.EXCEPTION, Kind.CANCEL, Kind.ENDED, Kind.OUTPUT, Kind.WRITE, Kind.GIVEN,
    Kind.ACCESS, Kind.PAUSE,
})  # fmt: skip
CALLS = frozenset({Kind.ENTER, Kind.EXIT, Kind.UNWIND, Kind.SUSPEND, Kind.RESUME})


class EdgeKind(enum.IntEnum):
    """How one event depends on another. Fall-through edges and calls are implied and never stored."""

    USE = 1
    SYNC = 2
    STATE = 3


def pack_word(kind: int, site: int = 0, slots: int = 0, flags: int = 0) -> int:
    """Pack a word: bits 0–7 kind, 8–15 extension slots, 16–31 flags, 32–63 site."""
    return kind | slots << 8 | flags << 16 | site << 32


def pack_extension(key: int, channel: int = 0, text: bytes = b"", flags: int = 0) -> bytes:
    """Pack one extension, a multiple of 16 bytes. Text beyond `MAX_TEXT` bytes is cut and flagged."""
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
    """Unpack an extension; a text that is not UTF-8 (for example a cut one) is decoded with replacement."""
    length, flags, channel, key = EXTENSION_HEAD.unpack_from(data)
    return Extension(key, channel, bytes(data[16 : 16 + length]).decode("utf-8", "replace"), flags)


class SiteInfo(NamedTuple):
    """A code location that can emit events, stored as the JSON text of a SITE record with the same field names."""

    id: int
    module: str
    qualname: str
    file: str
    line: int
    end_line: int
    kind: str  # function, coroutine, generator, async_generator, lambda, log, line, adapter, annotation, builtin
    rule: int = -1  # index of the plan's rule that selected it, -1 for none
    modified: int = 0  # modification time of the file when its code was loaded, ns since 1970; 0 when unknown
    size: int = 0  # size of the file then, in bytes
