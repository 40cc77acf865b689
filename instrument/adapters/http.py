"""Causality of HTTP: a request of http.client (and urllib) to the http.server handler that receives it.

Channel: "traceparent". A header that the user set is kept, and its span id is the key. `web` supports other clients and
servers, `rpc` the calls of grpc.
"""

from __future__ import annotations

from typing import Any

from clew.instrument.adapters import rpc, web
from clew.instrument.adapters.patching import adapter_site, hook, when_imported
from clew.instrument.propagation.traceparent import CHANNEL, forward_from, new_header, receive_header
from clew.instrument.recorder.core import core

_PREFIX = CHANNEL.encode() + b":"


def install() -> None:
    when_imported("http.client", _patch_client)
    when_imported("http.server", _patch_server)
    web.install()
    rpc.install()


def _patch_client(module: Any) -> None:
    site = adapter_site(module.HTTPConnection.endheaders)

    def add_header(connection: Any) -> bool | None:
        lines = connection._buffer
        if not lines or not core.active():
            return None
        for line in lines:
            if line[: len(_PREFIX)].lower() == _PREFIX:
                forward_from({CHANNEL: line[len(_PREFIX) :].strip().decode("latin-1")}, site)
                break
        else:
            lines.append(_PREFIX + b" " + new_header(site).encode("ascii"))
        core.mute_streams(True)
        return True

    def sent(_token: bool, _result: None) -> None:
        core.mute_streams(False)

    # The header carries the edge of this request, so its bytes need no second one.
    hook(module.HTTPConnection.endheaders, add_header, sent)


def _patch_server(module: Any) -> None:
    handler_class = module.BaseHTTPRequestHandler
    site = adapter_site(handler_class.parse_request)

    def parsed(handler: Any, valid: bool | None) -> None:
        if valid:
            receive_header(handler.headers.get(CHANNEL), site)

    hook(handler_class.parse_request, lambda handler: handler, parsed)
