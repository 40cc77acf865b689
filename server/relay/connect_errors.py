"""Explains why another relay is unreachable, with a hint what to change."""

from __future__ import annotations

import ssl

from websockets.exceptions import InvalidMessage, InvalidStatus

UNAUTHORIZED = 401


def reason(error: Exception, url: str) -> str:
    """Return why a connection to an address failed, without the token."""
    if isinstance(error, InvalidStatus) and error.response.status_code == UNAUTHORIZED:
        return "the relay rejected the token"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); name the file to check it with"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS; use ws:// for a relay without TLS"
    if isinstance(error, InvalidMessage) and url.startswith("ws:"):
        return "the server is not a relay, or it speaks TLS; use wss:// for a relay with TLS"
    return str(error) or type(error).__name__
