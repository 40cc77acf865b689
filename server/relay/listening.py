"""Where a relay listens, and to whom: on the loopback, or elsewhere with TLS and a token of at least some length.

Invariant: what is refused is refused before anything listens; a token is in no message and no log.
"""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clew.records.errors import ClewError

LOOPBACK = "127.0.0.1"
SHORTEST_TOKEN = 16


class ListenError(ClewError):
    """The relay cannot listen there."""


@dataclass(frozen=True)
class Listening:
    """Raises `ListenError` for what is not safe."""

    host: str = LOOPBACK
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    certificate: Path | None = None
    key: Path | None = None
    given: bool = False
    """Did the user choose the token?"""

    def __post_init__(self) -> None:
        if self.given and len(self.token) < SHORTEST_TOKEN:
            raise ListenError(
                f"a token has at least {SHORTEST_TOKEN} characters; `openssl rand -hex 32` makes a good one"
            )
        if not self.is_loopback and not (self.certificate and self.key and self.given):
            raise ListenError(
                f"{self.host} is not the loopback: whoever can reach it could read what your programs do. Give --cert and "
                "--key (PEM files) and --token-file, or leave --host out"
            )
        if bool(self.certificate) != bool(self.key):
            raise ListenError("TLS needs both --cert and --key")
        self.tls()

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def tls(self) -> ssl.SSLContext | None:
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError) as error:
            raise ListenError(f"{self.certificate} and {self.key} are no certificate and its key ({error})") from None
        return context

    def url(self, port: int) -> str:
        """Without the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.certificate else 'ws'}://{host}:{port}"

    def http_url(self, port: int) -> str:
        """Of what is plain HTTP."""
        return self.url(port).replace("ws", "http", 1)

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Says what cannot be listened to."""
        try:
            yield
        except OverflowError:
            raise ListenError(f"there is no port {self.port}; ports go from 1 to 65535") from None
        except OSError as error:
            raise ListenError(
                f"port {self.port} of {self.host} cannot be used ({error.strerror}); name another with --port, or leave it out "
                "for any free one"
            ) from None


def token_of(file: Path) -> str:
    """The first line of a file that nobody else can read. Raises `ListenError`."""
    try:
        text = file.read_text(encoding="utf-8")
        mode = file.stat().st_mode
    except (OSError, ValueError) as error:
        raise ListenError(f"{file}: the token cannot be read ({error})") from None
    if mode & 0o077:
        raise ListenError(f"{file}: others can read the token; `chmod 600 {file}`")
    return text.partition("\n")[0].strip()
