"""The public annotations for causality that no rule and no adapter can see: scopes, edges, marks, headers.

Invariants: without a recording every call is a cheap no-op. No annotation runs code of the values that it gets. No
annotation raises, whatever its arguments.
"""

from __future__ import annotations

import functools
import opcode
import sys
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, TypeVar, overload

from clew.instrument.adapters.patching import object_keys
from clew.instrument.probes.actions.values import render
from clew.instrument.probes.bytecode.rewrite import Probes, rewrite
from clew.instrument.probes.select.module_names import AS_MAIN, module_name
from clew.instrument.probes.sites import register
from clew.instrument.propagation import traceparent
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind
from clew.records.format.keys import NotAKey, key_of

F = TypeVar("F", bound=Callable[..., Any])

_BEFORE_WITH = opcode.opmap.get("BEFORE_WITH", -1)
_CACHE = 0
_MARK_LIMIT = 200
_NAME_LIMIT = 200
_object_key = object_keys()
_sites: dict[tuple[CodeType, int, str], int] = {}


@overload
def scope(what: str) -> Scope: ...
@overload
def scope(what: F) -> F: ...
def scope(what: Any) -> Any:
    """Record a call scope: `@clew.scope` or `@clew.scope("name")` on any function, or `with clew.scope("name"):`.

    A decorated function keeps its identity. It is recorded if the recording is active when the decorator runs.
    """
    return Scope(_name(what)) if issubclass(type(what), str) else _decorate(what, "")


class Scope:
    """A named call scope, usable as a decorator and as a context manager."""

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[int] = []

    def __call__(self, function: F) -> F:
        decorated: F = _decorate(function, self._name)
        return decorated

    def __enter__(self) -> None:
        # 0 marks a scope that was entered without a recording.
        site = 0
        with suppress(Exception):
            if core.active():
                site = _site(sys._getframe(1), self._name)
                _probe(site, Kind.ENTER)()
        self._open.append(site)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        site = self._open.pop() if self._open else 0
        if site:
            with suppress(Exception):
                _probe(site, Kind.EXIT if kind is None else Kind.UNWIND)(error)


def send(channel: str, value: object) -> None:
    """Begin an edge: send `value` on `channel`, to the `use` of the same value on that channel.

    A str, number, bytes, None or tuple of these is the same value in every process; any other object equals only itself.
    """
    if core.active():
        with suppress(Exception):
            name = _name(channel)
            core.emit(Kind.SEND, _site(sys._getframe(1), "send"), _key(name, value), intern(name))


def use(channel: str, value: object) -> Use:
    """End an edge: `value` causes the following events, up to the next `use` of the channel or the end of the function.

    As a context manager, the scope is the block: `with clew.use("jobs", job.id): …`.
    """
    if not core.active():
        return _NOTHING
    with suppress(Exception):
        frame, name = sys._getframe(1), _name(channel)
        key, site, channel_id = _key(name, value), _site(frame, "use"), intern(name)
        if not _enters_block(frame):
            core.emit(Kind.RECEIVE, site, key, channel_id)
        return Use(key, site, channel_id)
    return _NOTHING


class Use:
    """The result of `use`. Entering it opens the scope of its value."""

    __slots__ = ("_channel", "_key", "_site")

    def __init__(self, key: int, site: int, channel: int) -> None:
        self._key, self._site, self._channel = key, site, channel

    def __enter__(self) -> None:
        if self._site:
            with suppress(Exception):
                core.emit(Kind.SCOPE_BEGIN, self._site, self._key, self._channel)

    def __exit__(self, *error: object) -> None:
        if self._site:
            with suppress(Exception):
                core.emit(Kind.SCOPE_END, self._site, self._key, self._channel)


_NOTHING = Use(0, 0, 0)


def mark(name: str, value: object = None) -> None:
    """Record a named moment, with a bounded text of `value`."""
    if core.active():
        with suppress(Exception):
            text = "" if value is None else render(value, _MARK_LIMIT)[0]
            site = _site(sys._getframe(1), "mark")
            core.emit(Kind.MARK, site, 0, intern(_name(name)), text.encode("utf-8", "backslashreplace"))


def inject(headers: MutableMapping[str, str]) -> None:
    """Begin an edge to the receiver of `headers`: write a `traceparent` header, unless another tracer has written one."""
    if core.active():
        with suppress(Exception):
            traceparent.inject_into(headers, _site(sys._getframe(1), "inject"))


def extract(headers: Mapping[str, str]) -> None:
    """End an edge: the sender of `headers` causes the following events."""
    if core.active():
        with suppress(Exception):
            traceparent.extract_from(headers, _site(sys._getframe(1), "extract"))


def _name(value: object) -> str:
    """Return the text of a value that was passed as a name, without running code of the value."""
    if issubclass(type(value), str):
        return str.__str__(value)
    return render(value, _NAME_LIMIT)[0]


def _key(channel: str, value: object) -> int:
    try:
        return key_of(channel, value)
    except NotAKey:
        return _object_key(value)


def _site(frame: FrameType, name: str) -> int:
    """Return the site of an annotation at the current line of `frame`."""
    code = frame.f_code
    place = code, frame.f_lineno, name
    site = _sites.get(place)
    if site is None:
        module = module_name(frame.f_globals, code.co_filename)
        line = place[1] or code.co_firstlineno
        site = _sites[place] = register(module, name[:_NAME_LIMIT], code.co_filename, line, line, "annotation")
    return site


@functools.lru_cache(maxsize=4096)
def _probe(site: int, kind: Kind) -> Any:
    return core.Probe(site, kind)


def _enters_block(frame: FrameType) -> bool:
    """Return whether the current call of `frame` is the subject of a `with`, whose block is then the scope."""
    code = frame.f_code.co_code
    offset = frame.f_lasti + 2
    while offset < len(code) and code[offset] == _CACHE:
        offset += 2
    return offset < len(code) and code[offset] == _BEFORE_WITH


def _decorate(function: Any, name: str) -> Any:
    """Return the function itself, and record it from now on if that is possible."""
    with suppress(Exception):
        return _recorded(function, name)
    return function


def _recorded(function: Any, name: str) -> Any:
    if isinstance(function, (staticmethod, classmethod)):
        _decorate(function.__func__, name)
        return function
    if type(function) is not FunctionType or not core.active():
        return function
    code = function.__code__
    if any(isinstance(constant, type(_probe(0, Kind.ENTER))) for constant in code.co_consts):
        return function  # a rule of the plan already selects it
    last = max((line for _, line, _, _ in code.co_positions() if line), default=code.co_firstlineno)
    module = function.__module__
    if type(module) is not str or module in AS_MAIN:
        module = module_name(function.__globals__, code.co_filename)
    site = register(
        module, name[:_NAME_LIMIT] or code.co_qualname, code.co_filename, code.co_firstlineno, last, "annotation"
    )
    function.__code__ = rewrite(code, lambda found: Probes(site) if found is code else None, core.Probe)
    return function
