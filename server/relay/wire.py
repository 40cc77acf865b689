"""The messages between relays and viewers (docs/protocol.md, "Live"): JSON as text; events as bytes, with a JSON head
and columns.

Invariant: decoding any bytes gives a message or raises `WireError`.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
import zlib
from typing import Any

import numpy as np

from clew.graph.entities.live.state import COLUMNS, Batch, Entity, LiveState, Place, Standing
from clew.records.errors import ClewError

VERSION = 1
MOST_MESSAGE = 64 << 20
MOST_SPANS = 1 << 20
"""Maximum bytes of a message with OTLP data."""
_UNKNOWN = Standing()
_HEAD = struct.Struct("<I")
_ALIGNED = 8
_ROW = sum(np.dtype(kind).itemsize for _, kind in COLUMNS)


class WireError(ClewError):
    """The received data is not a message of this version."""


def encode(message: dict[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def decode(data: str | bytes) -> dict[str, Any]:
    """Decode a message without columns. Raises `WireError`."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a message of a relay: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise WireError('not a message of a relay: an object with "type" is needed')
    return message


def encode_events(run: str, batch: Batch) -> bytes:
    head = encode(
        {
            "type": "events",
            "run": run,
            "begin": batch.begin,
            "count": len(batch),
            "entities": batch.entities,
            "channels": list(batch.channels.items()),
            "sites": [(number, *place) for number, place in batch.sites.items()],
        }
    ).encode("utf-8", "replace")
    head += b" " * (-(_HEAD.size + len(head)) % _ALIGNED)
    columns = b"".join(batch.columns[name].astype(kind).tobytes() for name, kind in COLUMNS)
    return _HEAD.pack(len(head)) + head + columns


def decode_events(data: bytes) -> tuple[str, Batch]:
    """Return the run and its events. Raises `WireError`."""
    size = _HEAD.unpack_from(data)[0] if len(data) >= _HEAD.size else 0
    head = decode(data[_HEAD.size : _HEAD.size + size])
    try:
        count, at = int(head["count"]), _HEAD.size + size
        if head["type"] != "events" or len(data) != at + count * _ROW:
            raise WireError("the length of a message of events is not the one that it states")
        columns = {}
        for name, kind in COLUMNS:
            columns[name] = np.frombuffer(data, kind, count, at)
            at += columns[name].nbytes
        batch = Batch(
            int(head["begin"]),
            columns,
            [Entity(*entity) for entity in head["entities"]],
            dict(head["channels"]),
            _places(head["sites"]),
        )
        return str(head["run"]), batch
    except (KeyError, TypeError, ValueError) as error:
        raise WireError(f"not a message of events: {error}") from None


def packed(data: bytes) -> str:
    """Encode bytes as text."""
    return base64.b64encode(zlib.compress(data, 1)).decode()


def unpacked(text: object, most: int) -> bytes:
    """Decode bytes from text. Raises `WireError`, also for more than `most` bytes."""
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(text if isinstance(text, str) else "", validate=True), most + 1)
    except (ValueError, binascii.Error, zlib.error):
        raise WireError("bytes within a message are damaged") from None
    if len(data) > most or not inflate.eof:
        raise WireError("bytes within a message are damaged, or too many")
    return data


def state_message(run: str, source: str, journal: str, state: LiveState, missed: int = 0) -> dict[str, Any]:
    return {
        "type": "state",
        "run": run,
        "source": source,
        "journal": journal,
        "moment": state.moment,
        "missed": missed,
        "entities": [
            (*entity, *_told(state.standing.get(entity.number, _UNKNOWN))) for entity in state.entities.values()
        ],
        "deleted": list(state.deleted),
        "channels": list(state.channels.items()),
        "sites": [(number, *place) for number, place in state.sites.items()],
    }


def _told(standing: Standing) -> tuple[int, int, int]:
    return standing.container, standing.sent, standing.received


def state_of(message: dict[str, Any]) -> LiveState:
    """Return the state in a message. Raises `WireError`."""
    try:
        state = LiveState(int(message["moment"]))
        for number, identity, name, kind, container, sent, received in message["entities"]:
            state.entities[number] = Entity(number, identity, name, kind)
            state.standing[number] = Standing(container, sent, received)
        state.deleted.update(dict.fromkeys(message["deleted"]))
        state.channels = dict(message["channels"])
        state.sites = _places(message["sites"])
    except (KeyError, TypeError, ValueError) as error:
        raise WireError(f"not a message of a state: {error}") from None
    return state


def _places(sites: list[Any]) -> dict[int, Place]:
    return {int(number): Place(str(file), int(line), str(label)) for number, file, line, label in sites}
