"""Causality of asyncio for the recorder written in Python: what `csrc/tasks.h` does, by calls of Python functions.

Invariant: the records are the same, one by one; `tests/instrument/test_tasks.py` and `test_outcomes.py` run with both.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any

from clew.instrument.adapters.patching import Tokens, adapter_site, around, hook, inner_code, object_keys
from clew.instrument.adapters.tasks import watch_python_futures, watch_wait
from clew.instrument.context import fresh_key
from clew.instrument.probes.quiet import Around
from clew.instrument.recorder.lifecycle import at_start
from clew.instrument.recorder.select import core
from clew.instrument.recorder.strings import intern
from clew.records.event import Kind

_SEND, _JOIN = int(Kind.SEND), int(Kind.JOIN)
_SCOPE_BEGIN, _SCOPE_END = int(Kind.SCOPE_BEGIN), int(Kind.SCOPE_END)
_STEP_BEGIN, _STEP_END = int(Kind.STEP_BEGIN), int(Kind.STEP_END)

_emit = core.emit
_handle_key = object_keys()
_outcome_key = object_keys()
_cancel_key = object_keys()

_python_steps: set[object] = set()
"""Functions that are a step of a task written in Python."""
_collectors: set[object] = set()
"""Code of callbacks that count down what they wait for: only the last of their runs wakes the waiter, for all of them."""
_run_code: list[object] = []
"""Code of `Handle._run`: whoever is called from there is called by the loop."""


def patch_handles(module: Any) -> None:
    handle_class = module.Handle
    emit, handle_key, outcome_key = _emit, _handle_key, _outcome_key
    channel, outcome_channel = intern("asyncio.handle"), intern("asyncio.future")
    made_site, run_site = adapter_site(handle_class.__init__), adapter_site(handle_class._run)

    def made(handle: Any) -> None:
        emit(_SEND, made_site, handle_key(handle), channel)

    def begin(handle: Any) -> tuple[int, Any, int]:
        callback = handle._callback
        task = _task_of_step(callback)
        if task is None:
            key = handle_key(handle)
            emit(_SCOPE_BEGIN, run_site, key, channel)
            counted, count = _count(callback)
            if counted:
                emit(_JOIN, run_site, count, outcome_channel)
            return key, None, count
        strand = _strand(task)
        emit(_STEP_BEGIN, run_site, strand)
        emit(_JOIN, run_site, handle_key(handle), channel)
        if getattr(task, "_clew_cancelled", False):
            task._clew_cancelled = False
            emit(_JOIN, run_site, _cancel_key(task), channel)
        return strand, task, 0

    def end(token: tuple[int, Any, int], _result: None) -> None:
        key, task, count = token
        if task is not None:
            if task.done():
                emit(_SEND, run_site, outcome_key(task), outcome_channel)
            emit(_STEP_END, run_site, key)
            return
        if count:
            emit(_SEND, run_site, count, outcome_channel)
        emit(_SCOPE_END, run_site, key, channel)

    hook(handle_class.__init__, made)
    hook(handle_class._run, begin, end)
    _run_code.append(handle_class._run.__code__)


def _task_of_step(callback: Any) -> Any:
    """The task whose step `callback` is, else None. That a callback is bound to a task is not enough: `task.cancel` is, too."""
    kind = type(callback)
    if kind is FunctionType:
        return None
    if kind is BuiltinFunctionType:
        return callback.__self__ if callback.__name__ == "task_wakeup" else None
    if kind is MethodType:
        return callback.__self__ if callback.__func__ in _python_steps else None
    return callback.__self__ if kind.__name__ == "TaskStepMethWrapper" else None


def _collector(callback: Any) -> object | None:
    kind = type(callback)
    if kind is FunctionType:
        return callback if callback.__code__ in _collectors else None
    if kind is MethodType and callback.__func__ in _collectors:
        owner: object = callback.__self__
        return owner
    return None


def _count(callback: Any) -> tuple[bool, int]:
    """Has what a callback counts down been counted before, and the key of the count; 0 of a callback that does not count."""
    collector: Any = _collector(callback)
    if collector is None:
        return False, 0
    # Kept in the collector: the address of one that is gone may be the next one's.
    own = collector.__dict__
    counted = "_clew_count" in own
    return counted, own.setdefault("_clew_count", fresh_key())


def _strand(task: Any) -> int:
    try:
        strand: int = task._clew_strand
    except AttributeError:
        strand = _begin_strand(task, task.get_coro(), fresh_key())
    return strand


def _begin_strand(task: Any, coroutine: Any, strand: int) -> int:
    kind = type(coroutine)
    task._clew_strand = strand
    # Kept, because asking a task that is done for its coroutine crashes Python 3.12.1.
    task._clew_coroutine = coroutine.__qualname__ if kind in (CoroutineType, GeneratorType) else kind.__qualname__
    _define_strand(task)
    return strand


def _define_strands(module: Any) -> None:
    """In a trace that begins when there are tasks already."""
    for name in ("_all_tasks", "_scheduled_tasks"):
        for task in list(getattr(module, name, ())):
            if hasattr(task, "_clew_strand"):
                _define_strand(task)


def _define_strand(task: Any) -> None:
    text = {"kind": "task", "name": str(task.get_name()), "thread": core.thread(), "coroutine": task._clew_coroutine}
    core.define(Kind.STRAND, task._clew_strand, json.dumps(text).encode())


def patch_futures(module: Any) -> None:
    original = module.Future
    if getattr(original, "__clew__", False):
        return
    watch_python_futures(module)
    if original is module._PyFuture:
        return
    traced = _traced_future(original)
    module.Future = module._CFuture = traced


def _traced_future(original: Any) -> Any:
    """A subclass of the C future that tells whoever takes an outcome without waiting where the outcome came from."""
    emit, outcome_key, done = _emit, _outcome_key, original.done
    channel, site = intern("asyncio.future"), adapter_site(original)

    def setting(future: Any, _outcome: Any, /) -> None:
        if not done(future):
            emit(_SEND, site, outcome_key(future), channel)

    def cancelling(future: Any, msg: Any = None) -> None:
        setting(future, msg)

    befores = {"set_result": setting, "set_exception": setting, "cancel": cancelling}
    setters = {name: around(getattr(original, name), before) for name, before in befores.items()}
    return _subclass(original, (original,), {**setters, **_taking(original, site, channel)})


def patch_tasks(module: Any) -> None:
    if getattr(module.Task, "__clew__", False):
        return
    python_task = module._PyTask
    _python_steps.update(python_task.__dict__[name] for name in ("_Task__step", "_Task__wakeup"))
    watch_wait(module, _taker(adapter_site(module.Task), intern("asyncio.future")))
    _collectors.update(inner_code(module._wait, "_on_completion"))
    at_start(lambda: _define_strands(module))
    if module.Task is python_task:
        return
    # Programs ask `isinstance(task, asyncio.Future)`.
    module.Task = module._CTask = _traced_task(module.Task, module.futures.Future)
    if hasattr(module, "create_eager_task_factory"):
        hook(module.create_eager_task_factory, _step_at_once(module.create_eager_task_factory))
        module.eager_task_factory = module.create_eager_task_factory(module.Task)


def _traced_task(original: Any, future: Any) -> Any:
    """A subclass of the C task, for the same reason as the future's, and to see a cancellation that no handle carries."""
    emit, cancel_key = _emit, _cancel_key
    channel, site = intern("asyncio.handle"), adapter_site(original)

    def cancelled(done: Any, task: Any, msg: Any = None) -> Any:
        if done and task._must_cancel:
            # The step that is to fail was scheduled before, by someone else.
            emit(_SEND, site, cancel_key(task), channel)
            task._clew_cancelled = True
        return done

    def named(_result: None, task: Any, _value: Any, /) -> None:
        if hasattr(task, "_clew_strand"):
            # Of several definitions the last one holds. An eager task gets its name after its first step.
            _define_strand(task)

    methods = {
        "cancel": around(original.cancel, None, cancelled),
        "set_name": around(original.set_name, None, named),
        **_taking(original, site, intern("asyncio.future")),
    }
    return _subclass(
        original, (original, future), methods, slots=("_clew_cancelled", "_clew_coroutine", "_clew_strand")
    )


def _taker(site: int, channel: int) -> Callable[[Any], None]:
    def taken(future: Any) -> None:
        if getattr(future, "__clew__", False):
            _emit(_JOIN, site, _outcome_key(future), channel)

    return taken


class _Taking:
    """A method of a future or task that takes its outcome: looking it up records a JOIN when the outcome is there already.

    At the lookup and not in a call, so that no frame of ours stands in the traceback of an exception that is the outcome.
    """

    def __init__(self, method: Any, done: Callable[[Any], bool], site: int, channel: int) -> None:
        self._method, self._done, self._site, self._channel = method, done, site, channel

    def __get__(self, future: Any, owner: Any = None) -> Any:
        # A task that wakes up asks for the result, too; the handle has already told what woke it.
        if future is not None and self._done(future) and sys._getframe(1).f_code not in _run_code:
            _emit(_JOIN, self._site, _outcome_key(future), self._channel)
        return self._method.__get__(future, owner)


def _taking(original: Any, site: int, channel: int) -> dict[str, Any]:
    emit, outcome_key, done, await_ = _emit, _outcome_key, original.done, original.__await__

    def __await__(self: Any) -> Any:
        if done(self):
            emit(_JOIN, site, outcome_key(self), channel)
        return await_(self)

    scopes = Tokens()

    def adding(future: Any, *_arguments: Any, **_options: Any) -> None:
        # A small scope of its own makes the handle, so that only the callback's run depends on the outcome.
        key = fresh_key() if done(future) else 0
        scopes.stack.append(key)
        if key:
            emit(_SEND, site, key, channel)
            emit(_SCOPE_BEGIN, site, key, channel)
            emit(_JOIN, site, outcome_key(future), channel)

    def added(result: None, *_arguments: Any, **_options: Any) -> None:
        key = scopes.stack.pop() if scopes.stack else 0
        if key:
            emit(_SCOPE_END, site, key, channel)
        return result

    takers = {name: _Taking(getattr(original, name), done, site, channel) for name in ("result", "exception")}
    add_done_callback = around(original.add_done_callback, adding, added)
    return {"__await__": __await__, "__iter__": __await__, "add_done_callback": add_done_callback, **takers}


def _subclass(original: Any, bases: tuple[Any, ...], methods: dict[str, Any], slots: tuple[str, ...] = ()) -> Any:
    """A subclass under the original's name, whose methods have the originals' names and documentation."""
    namespace: dict[str, Any] = {
        "__module__": original.__module__,
        "__qualname__": original.__qualname__,
        "__doc__": original.__doc__,
        "__slots__": slots,
        "__clew__": True,
    }
    for name, method in methods.items():
        if isinstance(method, FunctionType):
            like = getattr(original, name)
            method.__qualname__, method.__doc__, method.__module__ = (
                like.__qualname__,
                like.__doc__,
                original.__module__,
            )
            method.__annotations__ = {}
        namespace[name] = method
    return type(original.__name__, bases, namespace)


def _step_at_once(create_factory: Any) -> Callable[[Any], None]:
    """Task factories that run a task's first step at once: no handle starts it, so the step is recorded around the call."""
    emit = _emit
    site = adapter_site(create_factory)
    channel, outcome_channel = intern("asyncio.handle"), intern("asyncio.future")
    under_way = Tokens()

    def is_eager(options: dict[str, Any]) -> bool:
        return bool(options.get("eager_start")) and options["loop"].is_running()

    def begin(_coro: Any, **options: Any) -> None:
        if is_eager(options):
            strand, key = fresh_key(), fresh_key()
            emit(_SEND, site, key, channel)
            emit(_STEP_BEGIN, site, strand)
            emit(_JOIN, site, key, channel)
            under_way.stack.append(strand)

    def end(task: Any, coro: Any, **options: Any) -> Any:
        if is_eager(options) and under_way.stack:
            strand = under_way.stack.pop()
            if task is None:
                text = {"kind": "task", "name": "a task that could not be made", "thread": core.thread()}
                core.define(Kind.STRAND, strand, json.dumps(text).encode())
            else:
                with contextlib.suppress(Exception):  # whatever the constructor makes is the program's
                    _begin_strand(task, coro, strand)
                    if task.done():
                        emit(_SEND, site, _outcome_key(task), outcome_channel)
            emit(_STEP_END, site, strand)
        return task

    def surround_constructor(constructor: Any) -> None:
        # A cell, because the factory is a closure.
        constructor.cell_contents = Around(constructor.cell_contents, begin, end)

    return surround_constructor


def patch_groups(module: Any) -> None:
    _collectors.add(module.TaskGroup._on_task_done)
