"""One process that runs one workload under one tracer, a slice at a time or a stretch of many, when it is asked to.

Invariant: a tracer's process has that tracer's machinery only, and is as warm as the untraced one beside it. Talks in lines: a
word comes by standard input, a JSON value goes back by the file descriptor that the last argument names.

    python worker.py WORKLOAD TRACER DESCRIPTOR
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

STRETCH_NS = 50_000_000
"""Of a stretch, in which what is cold after another process had the processor (caches, branches) counts for little."""

Clock = Callable[[], int]
Start = Callable[[], object]


class Tracer:
    """Turned on and off around each slice; what it keeps of a slice is dropped after it, outside the time."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def forget(self) -> None: ...

    def save(self) -> tuple[int, int]:
        """Makes what is kept a file that can be opened: (ns of CPU time, bytes)."""
        return 0, 0


class Viz(Tracer):
    def __init__(self) -> None:
        from viztracer import VizTracer

        self._tracer: Any = VizTracer(ignore_c_function=True, tracer_entries=2_000_000, verbose=0)
        tracer = self._tracer
        self.start, self.stop, self.forget = tracer.start, tracer.stop, tracer.clear  # type: ignore[method-assign]  # bound

    def save(self) -> tuple[int, int]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace.json")
            started = time.process_time_ns()
            self._tracer.save(str(path))
            return time.process_time_ns() - started, path.stat().st_size


class CProfile(Tracer):
    def __init__(self) -> None:
        import cProfile

        self._profile = cProfile.Profile()
        profile = self._profile
        self.start, self.stop, self.forget = profile.enable, profile.disable, profile.clear  # type: ignore[method-assign]  # bound


class Monitoring(Tracer):
    """What an engine on `sys.monitoring` could cost at best: local events, and C objects that store a record when called.

    They do not even look up which function they are called for.
    """

    def __init__(self) -> None:
        from clew.instrument.recorder.core import core
        from clew.records.format.event import Kind

        self._folder = tempfile.TemporaryDirectory()
        core.start(str(Path(self._folder.name, "trace.clew")), b"{}", 0, 2 << 30, 0.0)
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]  # from 3.12 on
        events = monitoring.events
        tool = next(number for number in (4, 3) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(tool, "clew's benchmark")
        kinds = {
            events.PY_START: Kind.ENTER, events.PY_RETURN: Kind.EXIT,
            events.PY_YIELD: Kind.SUSPEND, events.PY_RESUME: Kind.RESUME,
        }  # fmt: skip
        for event, kind in kinds.items():
            monitoring.register_callback(tool, event, core.Probe(1, kind))
        for function in [found for found in gc.get_objects() if type(found) is FunctionType]:
            monitoring.set_local_events(tool, function.__code__, sum(kinds))


class Idle(Tracer):
    """What the interpreter takes to run the probes of a call, its two, when they do nothing: no clock, no record.

    Each is an object of Python's own in the place of ours: an int that is inverted, on 3.11 an iterator at its end.
    """

    def __init__(self) -> None:
        from clew.instrument.probes.bytecode.rewrite import Probes, rewrite
        from clew.instrument.probes.install.loaded_modules import functions

        probe: object = iter(()) if sys.version_info < (3, 12) else 0
        for function in functions():
            if not function.__module__ or not function.__module__.startswith("clew."):
                function.__code__ = rewrite(function.__code__, lambda _code: Probes(1), lambda _site, _kind: probe)


class Decorated(Tracer):
    """A plain Python decorator that notes the time before and after each call."""

    def __init__(self, modules: list[ModuleType]) -> None:
        kept: list[tuple[str, int]] = []
        self.forget = kept.clear  # type: ignore[method-assign]  # bound

        def decorator(function: Any) -> Any:
            name, now, keep = function.__qualname__, time.perf_counter_ns, kept.append

            @functools.wraps(function)
            def wrapper(*arguments: Any, **named: Any) -> Any:
                keep((name, now()))
                try:
                    return function(*arguments, **named)
                finally:
                    keep((name, now()))

            return wrapper

        decorate(modules, decorator)


class Spans(Tracer):
    """An OpenTelemetry span for each call, made by its SDK and sent nowhere."""

    def __init__(self, modules: list[ModuleType]) -> None:
        from opentelemetry.sdk.trace import TracerProvider

        tracer = TracerProvider().get_tracer("benchmark")

        def decorator(function: Any) -> Any:
            name = function.__qualname__

            @functools.wraps(function)
            def wrapper(*arguments: Any, **named: Any) -> Any:
                with tracer.start_as_current_span(name):
                    return function(*arguments, **named)

            return wrapper

        decorate(modules, decorator)


def decorate(modules: list[ModuleType], decorator: Callable[[Any], Any]) -> None:
    """Puts the decorator on the functions and methods of the modules, under every name that these know them by."""
    made: dict[int, Any] = {}
    names = {module.__name__ for module in modules}

    def wrapped(function: Any) -> Any:
        if id(function) not in made:
            made[id(function)] = decorator(function)
        return made[id(function)]

    for module in modules:
        for name, value in list(vars(module).items()):
            if type(value) is FunctionType and value.__module__ in names and name not in ("belongs", "prepare"):
                setattr(module, name, wrapped(value))
            elif isinstance(value, type) and value.__module__ == module.__name__:
                for attribute, method in list(vars(value).items()):
                    if type(method) is FunctionType and not attribute.startswith("__new"):
                        setattr(value, attribute, wrapped(method))


def make_tracer(name: str, workload: Any, workloads: ModuleType) -> Tracer:
    if name in ("decorator", "OpenTelemetry span"):
        modules = [
            module
            for module in list(sys.modules.values())
            if type(module) is ModuleType and workloads.belongs(workload, module)
        ]
        return Decorated(modules) if name == "decorator" else Spans(modules)
    kinds: dict[str, type[Tracer]] = {
        "VizTracer": Viz, "cProfile": CProfile, "sys.monitoring": Monitoring, "idle probes": Idle,
    }  # fmt: skip
    return kinds.get(name, Tracer)()


def count_calls(work: Callable[[], object]) -> int:
    """Calls of Python functions in a slice, generators that go on included, as the interpreter's profiler sees them."""
    import threading

    calls = [0]

    def profile(_frame: object, event: str, _argument: object) -> None:
        calls[0] += event == "call"

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # typeshed wants a function
    return calls[0]


def timed(work: Start, tracer: Tracer, clock: Clock, least: int) -> int:
    """ns of a slice, the mean of as many as take at least `least`."""
    work()  # what ran meanwhile has had the caches
    tracer.start()
    started, taken, slices = clock(), 0, 0
    while not slices or taken < least:
        work()
        slices += 1
        taken = clock() - started
    tracer.stop()
    tracer.forget()
    return taken // slices


def main() -> None:
    name, tracer_name, descriptor = sys.argv[1:4]
    workloads = importlib.import_module("workloads")
    workload = workloads.WORKLOADS.get(name) or importlib.import_module("fact_workloads").FACTS[name]
    work = workload.prepare()
    tracer = make_tracer(tracer_name, workload, workloads)
    if tracer_name in ("decorator", "OpenTelemetry span"):
        work = workload.prepare()
    clock: Clock = time.process_time_ns if workload.threads else time.thread_time_ns
    answers = os.fdopen(int(descriptor), "w", buffering=1)
    gc.collect()
    gc.freeze()
    gc.disable()
    for word in sys.stdin:
        answer: object = None
        match word.strip():
            case "slice":
                answer = timed(work, tracer, clock, 0)
            case "stretch":
                answer = timed(work, tracer, clock, STRETCH_NS)
            case "calls":
                answer = count_calls(work)
            case "save":
                tracer.start()
                work()
                tracer.stop()
                answer = tracer.save()
            case "end":
                break
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
