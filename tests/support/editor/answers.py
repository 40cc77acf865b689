"""Answers of the server after a round trip through JSON."""

import json

from clew.server import handlers
from clew.server.protocol.codec import decode, encode
from clew.server.protocol.registry import METHODS


def ask(session, method, params, task=None):
    """Return the answer after a round trip through JSON, as every client gets it."""
    data = json.loads(json.dumps(handlers.answer(session, method, encode(params), task)))
    return decode(METHODS[method].result, data)
