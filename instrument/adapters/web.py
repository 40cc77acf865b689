"""Causality of HTTP beyond the standard library: requests of httpx and aiohttp, to the servers of WSGI and ASGI.

Channel: "traceparent". requests and urllib3 use `http.client`, and werkzeug's server is an `http.server`; `http` hooks
these. Invariant: a request carries one header and is received once; a header that the user set is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, when_imported
from clew.instrument.propagation.traceparent import CHANNEL, inject_into, new_header, receive_header
from clew.instrument.recorder.core import core

_BYTES = CHANNEL.encode()
_WSGI = "HTTP_" + CHANNEL.upper()


def install() -> None:
    when_imported("httpx._client", _patch_httpx)
    when_imported("aiohttp.client_reqrep", _patch_aiohttp_client)
    when_imported("aiohttp.web_protocol", _patch_aiohttp_server)
    when_imported("wsgiref.handlers", _patch_wsgiref)
    when_imported("gunicorn.http.wsgi", _patch_gunicorn)
    for protocol in ("http.h11_impl", "http.httptools_impl"):
        when_imported(f"uvicorn.protocols.{protocol}", _patch_uvicorn)
    when_imported("hypercorn.app_wrappers", _patch_hypercorn)


def _patch_httpx(module: Any) -> None:
    for client in (module.Client, module.AsyncClient):
        site = adapter_site(client._send_single_request)
        hook(client._send_single_request, functools.partial(_send_httpx, module.Headers, site), parameters=2)


def _send_httpx(known: Any, site: int, _client: Any, request: Any) -> None:
    headers = request.headers
    # The methods of `Headers` decode every header several times.
    triples = headers._list if type(headers) is known and core.active() else ()
    for _written, name, _value in triples:
        if name == _BYTES:
            break
    else:
        if triples:
            triples.append((_BYTES, _BYTES, new_header(site).encode("ascii")))
            return
    inject_into(headers, site)


def _patch_aiohttp_client(module: Any) -> None:
    _inject(module.ClientRequest.send, lambda request: request.headers)


def _inject(function: Any, headers_of: Any, parameters: int = 1) -> None:
    site = adapter_site(function)
    hook(function, lambda *arguments: inject_into(headers_of(*arguments), site) and None, parameters=parameters)


def _patch_aiohttp_server(module: Any) -> None:
    function = module.RequestHandler._handle_request
    site = adapter_site(function)
    hook(function, lambda _handler, request: receive_header(request.headers.get(CHANNEL), site) and None, parameters=2)


def _patch_wsgiref(module: Any) -> None:
    function = module.BaseHandler.setup_environ
    site = adapter_site(function)

    def set_up(handler: Any, _result: None) -> None:
        # The server of wsgiref is an http.server, where the request was already received.
        if getattr(handler, "request_handler", None) is None:
            receive_header(handler.environ.get(_WSGI), site)

    hook(function, lambda handler: handler, set_up)


def _patch_gunicorn(module: Any) -> None:
    site = adapter_site(module.create)

    def created(_token: bool, result: Any) -> None:
        if result is not None:
            receive_header(result[1].get(_WSGI), site)

    hook(module.create, lambda _request: True, created)


def _patch_uvicorn(module: Any) -> None:
    function = module.RequestResponseCycle.run_asgi
    site = adapter_site(function)
    hook(function, lambda cycle: _receive_asgi(cycle.scope["headers"], site))


def _patch_hypercorn(module: Any) -> None:
    for wrapper in (module.ASGIWrapper, module.WSGIWrapper):
        site = adapter_site(wrapper.__call__)
        hook(
            wrapper.__call__,
            lambda _wrapper, scope, site=site: _receive_asgi(scope.get("headers", ()), site),
            parameters=2,
        )


def _receive_asgi(headers: Iterable[tuple[bytes, bytes]], site: int) -> None:
    for name, value in headers:
        if name.lower() == _BYTES:
            receive_header(value.decode("latin-1"), site)
            return
