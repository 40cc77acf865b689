"""Causality of raw bytes: the writers of bytes on a socket or pipe, to the reader of these bytes.

Channels: "socket", "pipe". Only streams (TCP, Unix, socket pairs, pipes) are covered, from their first byte. Traffic of the
library that has its own edges is left out: multiprocessing's connections, the loop's wake-ups, the head of an HTTP request.
Invariant: an edge leads from the writer of a byte to its reader; an uncertain edge is not recorded.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import sys
from typing import Any

from clew.instrument.adapters.patching import Patch, adapter_site, hook, when_imported
from clew.instrument.adapters.processes import standard_streams
from clew.instrument.probes.sites import register
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.keys import key_of
from clew.records.run.directory import boot_id

_MODULES = {"fcntl": "fcntl", "fork_exec": "_posixsubprocess", "set_wakeup_fd": "_signal"}
"""The modules of the functions that are not in `os`."""


def install() -> None:
    system = importlib.import_module(os.name)
    site = (
        register("_socket", "socket.send", "", 0, 0, "adapter"),
        register("_socket", "socket.recv", "", 0, 0, "adapter"),
    )
    names = core.watch_streams(
        _machine(),
        (intern("socket"), *site),
        (intern("pipe"), adapter_site(system.write), adapter_site(system.read)),
    )
    pairs = names.index("socketpair")
    for number, name in enumerate(names):
        module = "_socket" if number == len(names) - 1 else _MODULES.get(name, os.name)
        if name and number != pairs:
            _when_loaded(module, functools.partial(_watch, number, name))
    with io.FileIO(os.devnull) as file:
        core.watch_transfers(file)
    _when_loaded("_socket", functools.partial(_watch_sockets, pairs))
    when_imported("ssl", _patch_ssl)
    when_imported("asyncio.selector_events", _patch_loop)
    when_imported("multiprocessing.connection", _patch_connections)
    standard_streams.install()


def _machine() -> int:
    """Return a key for the machine's network namespace, in which equal addresses mean the same socket."""
    network = 0
    with contextlib.suppress(OSError):
        network = os.stat("/proc/self/ns/net").st_ino
    return key_of("sockets", (boot_id(), network))


def _when_loaded(name: str, patch: Patch) -> None:
    """Like `when_imported`, also for a built-in module, whose import the finder does not see."""
    if name in sys.builtin_module_names:
        importlib.import_module(name)
    when_imported(name, patch)


def _watch(number: int, name: str, module: Any) -> None:
    if hasattr(module, name):
        core.watch_transfer(number, getattr(module, name))


def _watch_sockets(pairs: int, module: Any) -> None:
    """Watch sockets, and `socketpair` last: a known pair must have all of its bytes counted."""
    sample = module.socket()
    try:
        core.watch_transfers(sample)
    finally:
        sample.close()
    _watch(pairs, "socketpair", module)


def _patch_ssl(module: Any) -> None:
    """Ignore TLS connections, because the C code of `ssl` reads and writes them itself."""

    def begin(connection: Any) -> None:
        core.forget_stream(connection.fileno())

    hook(module.SSLSocket.do_handshake, begin)


def _patch_loop(module: Any) -> None:
    """Ignore the loop's self-pipe: handles have the edges of wake-ups, and signals write to it, too."""

    def made(loop: Any, _result: None) -> None:
        for end in (loop._ssock, loop._csock):
            core.forget_stream(end.fileno())

    hook(module.BaseSelectorEventLoop._make_self_pipe, lambda loop: loop, made)


def _patch_connections(module: Any) -> None:
    def made(_connection: Any, handle: Any) -> None:
        core.forget_stream(handle)

    hook(module._ConnectionBase.__init__, made, parameters=2)
