"""Why another relay cannot be spoken to, in words that say what to change."""

from __future__ import annotations

import ssl

from websockets.exceptions import InvalidMessage, InvalidStatus

UNAUTHORIZED = 401


def reason(error: Exception, url: str) -> str:
    """Of what a connection to an address ended with. Without the token."""
    if isinstance(error, InvalidStatus) and error.response.status_code == UNAUTHORIZED:
        return "the relay refuses the token"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); name the file that it is checked by"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS; a relay without it has an address that begins with ws://"
    if isinstance(error, InvalidMessage) and url.startswith("ws:"):
        return "what answers there is no relay, or one that speaks TLS has an address that begins with wss://"
    return str(error) or type(error).__name__
