"""Causality of HTTP: a request sent with http.client (and urllib) to the http.server handler that gets it.

Channel: "traceparent". A header that the user set stays; its span id is the key. `web` has other clients and servers.
"""

from __future__ import annotations

from typing import Any

from clew.instrument.adapters import web
from clew.instrument.adapters.patching import adapter_site, hook, when_imported
from clew.instrument.context import CHANNEL, extract_from, forward_from, inject_into

_PREFIX = CHANNEL.encode() + b":"


def install() -> None:
    when_imported("http.client", _patch_client)
    when_imported("http.server", _patch_server)
    web.install()


def _patch_client(module: Any) -> None:
    site = adapter_site(module.HTTPConnection.endheaders)

    def add_header(connection: Any) -> None:
        lines = connection._buffer
        there = next((line for line in lines if line[: len(_PREFIX)].lower() == _PREFIX), None)
        headers: dict[str, str] = {}
        if there is not None:
            forward_from({CHANNEL: there[len(_PREFIX) :].strip().decode("latin-1")}, site)
        elif lines and inject_into(headers, site):
            lines.append(f"{CHANNEL}: {headers[CHANNEL]}".encode("ascii"))

    hook(module.HTTPConnection.endheaders, add_header)


def _patch_server(module: Any) -> None:
    handler_class = module.BaseHTTPRequestHandler
    site = adapter_site(handler_class.parse_request)

    def parsed(handler: Any, valid: bool | None) -> None:
        if valid:
            extract_from(handler.headers, site)

    hook(handler_class.parse_request, lambda handler: handler, parsed)
