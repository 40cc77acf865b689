"""The address that a relay listens on: the loopback, or another address with TLS and a token of a minimum length.

Invariant: unsafe settings are rejected before the relay listens; no message and no log contains the token.
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
    """Raises `ListenError` for unsafe settings."""

    host: str = LOOPBACK
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    certificate: Path | None = None
    key: Path | None = None
    given: bool = False
    """Whether the user chose the token."""

    def __post_init__(self) -> None:
        if self.given and len(self.token) < SHORTEST_TOKEN:
            raise ListenError(
                f"the token needs at least {SHORTEST_TOKEN} characters; `openssl rand -hex 32` makes a good one"
            )
        if not self.is_loopback and not (self.certificate and self.key and self.given):
            raise ListenError(
                f"{self.host} is not the loopback address: anyone who can reach it could read your recordings. Give --cert and "
                "--key (PEM files) and --token-file, or omit --host"
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
            raise ListenError(
                f"{self.certificate} and {self.key} are not a certificate and its key ({error})"
            ) from None
        return context

    def url(self, port: int) -> str:
        """Return the address without the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.certificate else 'ws'}://{host}:{port}"

    def http_url(self, port: int) -> str:
        """Return the address for plain HTTP."""
        return self.url(port).replace("ws", "http", 1)

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Context manager that explains why an address cannot be listened on."""
        try:
            yield
        except OverflowError:
            raise ListenError(f"invalid port {self.port}; expected 1 to 65535") from None
        except OSError as error:
            raise ListenError(
                f"port {self.port} of {self.host} cannot be used ({error.strerror}); choose another with --port, or omit it "
                "for any free one"
            ) from None


def token_of(file: Path) -> str:
    """Return the first line of a file that only the user can read. Raises `ListenError`."""
    try:
        text = file.read_text(encoding="utf-8")
        mode = file.stat().st_mode
    except (OSError, ValueError) as error:
        raise ListenError(f"{file}: the token cannot be read ({error})") from None
    if mode & 0o077:
        raise ListenError(f"{file}: others can read the token; `chmod 600 {file}`")
    return text.partition("\n")[0].strip()
