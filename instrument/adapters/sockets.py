"""Causality of raw bytes: whoever reads from a socket or a pipe depends on those who wrote what it got.

Channels: "socket", "pipe". Streams only (TCP, Unix, socket pairs, pipes), from their first byte. What the library sends over
them with edges of its own (multiprocessing's connections, the loop's wake-ups, the head of an HTTP request) is left out.
Invariant: an edge leads to each byte's reader from its writer; where that is not certain there is none.
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
"""Where a function is that is not of `os`."""


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
    """What processes share whose own addresses are the same: a machine's network."""
    network = 0
    with contextlib.suppress(OSError):
        network = os.stat("/proc/self/ns/net").st_ino
    return key_of("sockets", (boot_id(), network))


def _when_loaded(name: str, patch: Patch) -> None:
    """As `when_imported`, of a module that may be built in, which no loader tells of."""
    if name in sys.builtin_module_names:
        importlib.import_module(name)
    when_imported(name, patch)


def _watch(number: int, name: str, module: Any) -> None:
    if hasattr(module, name):
        core.watch_transfer(number, getattr(module, name))


def _watch_sockets(pairs: int, module: Any) -> None:
    """What makes pairs comes last: a pair whose bytes are not all counted must not be known."""
    sample = module.socket()
    try:
        core.watch_transfers(sample)
    finally:
        sample.close()
    _watch(pairs, "socketpair", module)


def _patch_ssl(module: Any) -> None:
    """Its own C code reads and writes."""

    def begin(connection: Any) -> None:
        core.forget_stream(connection.fileno())

    hook(module.SSLSocket.do_handshake, begin)


def _patch_loop(module: Any) -> None:
    """What wakes the loop up is a handle's business, and signals write to it, too."""

    def made(loop: Any, _result: None) -> None:
        for end in (loop._ssock, loop._csock):
            core.forget_stream(end.fileno())

    hook(module.BaseSelectorEventLoop._make_self_pipe, lambda loop: loop, made)


def _patch_connections(module: Any) -> None:
    def made(_connection: Any, handle: Any) -> None:
        core.forget_stream(handle)

    hook(module._ConnectionBase.__init__, made, parameters=2)
