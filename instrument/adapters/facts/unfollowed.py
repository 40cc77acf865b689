"""Mark where a thread runs an event loop or a hub of greenlets that clew does not follow.

In such a thread several tasks take turns in one strand, so what ran before an event is not its cause. Each run of a loop
is a GAP record with the channel `unfollowed`, from its beginning to its end, and a note in the trace. Invariant: a
library that is imported but does not run leaves no mark.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from clew.instrument.adapters import UNFOLLOWED
from clew.instrument.adapters.patching import adapter_site, hook, surround, when_imported
from clew.instrument.probes.sites import note
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import FLAG_OVER, Kind
from clew.records.format.event import UNFOLLOWED as CHANNEL

_FUNCTIONS = (
    ("gevent.hub", "Hub.run"),
    ("eventlet.hubs.hub", "BaseHub.run"),
    ("trio._core._run", "run"),
    ("trio._core._run", "start_guest_run"),
    ("curio.kernel", "Kernel.run"),
    ("twisted.internet.base", "ReactorBase.mainLoop"),
    ("twisted.internet.base", "_SignalReactorMixin.mainLoop"),
)
"""The functions that run loops: module and qualified name."""
_ENDLESS = frozenset({"start_guest_run"})
"""The functions that return while their loop runs on."""
_EXTENSIONS = (("uvloop", "Loop"), ("winloop", "Loop"))
"""The classes of loops whose `run_forever` is not written in Python."""
_noted: set[tuple[int, str]] = set()
"""The recordings (by uid) and libraries that have a note."""


def install() -> None:
    for module, qualname in _FUNCTIONS:
        when_imported(module, functools.partial(_mark_function, qualname))
    for module, name in _EXTENSIONS:
        when_imported(module, functools.partial(_mark_class, name))


def _mark_function(qualname: str, module: Any) -> None:
    function = module
    for name in qualname.split("."):
        function = getattr(function, name, None)
    if function is None:  # another version of the library
        return
    begin, end = _marks(function, module)
    if qualname in _ENDLESS:
        hook(function, lambda *_: begin())
    else:
        hook(function, lambda *_: begin(), lambda *_: end())


def _mark_class(name: str, module: Any) -> None:
    loop = getattr(module, name)
    if "run_forever" not in vars(loop):
        loop.run_forever = loop.run_forever
    begin, end = _marks(loop.run_forever, module)

    def before(*_arguments: Any) -> None:
        begin()

    def after(result: object, *_arguments: Any) -> object:
        end()
        return result

    surround(loop, "run_forever", before, after)


def _marks(function: Any, module: Any) -> tuple[Callable[[], bool], Callable[[], None]]:
    """Return the functions that mark the begin and the end of a loop in the calling thread."""
    library: str = module.__name__.partition(".")[0]
    what, site = UNFOLLOWED[library], adapter_site(function)
    text = f"{library} runs in this thread; clew does not follow its {what}".encode()

    def begin() -> bool:
        core.emit(Kind.GAP, site, 0, intern(CHANNEL), text)
        noted = core.uid(), library
        if noted not in _noted:
            _noted.add(noted)
            note(f"not followed: {library} ran, and clew does not follow its {what}; an answer stops there")
        return True

    def end() -> None:
        core.emit(Kind.GAP, site, 0, intern(CHANNEL), text, FLAG_OVER)

    return begin, end
