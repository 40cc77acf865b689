"""Checks of the interpreter, the platform and the limits that the system sets."""

from __future__ import annotations

import mmap
import os
import platform
import shutil
import signal
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from clew.cli.diagnosis.finding import Finding
from clew.instrument.probes.bytecode.opcodes import SUPPORTED
from clew.instrument.recorder.core import without_gil
from clew.records.attach import registry
from clew.records.format.header import CHUNK_SIZE
from clew.records.plan.default_plan import QUOTA

SLOW_CLOCK_NS = 250
"""A reading of the clock that takes longer makes recording noticeably slower."""
FEW_MAPS = 4096
_READINGS = 20_000


def interpreter() -> Iterator[Finding]:
    name = platform.python_implementation()
    if name == "CPython" and SUPPORTED:
        yield Finding("interpreter", f"{name} {platform.python_version()}")
    else:
        advice = "clew records CPython 3.11, 3.12 and 3.13; other interpreters can only analyse recorded runs"
        yield Finding("interpreter", f"{name} {platform.python_version()}", "note", advice)
    yield Finding("executable", shortened(sys.executable))
    if without_gil():
        yield Finding("GIL", "disabled", "note", "recording relies on the GIL: start Python with -X gil=1")
    elif sysconfig.get_config_var("Py_GIL_DISABLED"):
        yield Finding("GIL", "enabled in a free-threaded build")
    if sys.flags.isolated or sys.flags.ignore_environment or sys.flags.no_site:
        yield Finding("flags", str(sys.flags), "note", "-I, -E and -S keep child processes from being recorded")


def system() -> Iterator[Finding]:
    if sys.platform == "linux":
        yield Finding("platform", platform.platform())
    else:
        advice = "clew is tested on Linux; on other systems some mechanisms are not followed"
        yield Finding("platform", platform.platform(), "note", advice)
    yield Finding("processors", f"{_processors()} usable of {os.cpu_count() or 1}")


def clock() -> Iterator[Finding]:
    """Measure one reading of the monotonic clock, which the recorder falls back to."""
    best = min(_time_of_readings() for _ in range(5))
    source = _text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    value = f"{best:.0f} ns a reading{f', kernel clock source {source}' if source else ''}"
    if best <= SLOW_CLOCK_NS:
        yield Finding("clock", value)
    else:
        yield Finding("clock", value, "note", "each event costs more here; record fewer functions, or set a budget")


def disk(workspace: Path) -> Iterator[Finding]:
    """Check that the workspace can hold a trace file: its free space, and a shared memory map of one chunk."""
    free = shutil.disk_usage(workspace).free
    value = f"{free / 1e9:.1f} GB free in {shortened(str(workspace))}"
    if free < QUOTA:
        advice = f"a process may record up to {QUOTA / 1e9:.1f} GB before its quota ends; choose a smaller --quota"
        yield Finding("disk", value, "note", advice)
    else:
        yield Finding("disk", value)
    folder = workspace / ".clew" if (workspace / ".clew").is_dir() else workspace
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(CHUNK_SIZE)
            with mmap.mmap(file.fileno(), CHUNK_SIZE) as mapped:
                mapped[:4] = b"clew"
    except OSError as error:
        advice = "name a folder on a local, writable file system with --workspace"
        yield Finding("memory map", f"{shortened(str(folder))}: {error.strerror}", "problem", advice)
    else:
        yield Finding("memory map", "files of the workspace can be mapped for writing")


def limits() -> Iterator[Finding]:
    maps = _text("/proc/sys/vm/max_map_count")
    if maps.isdecimal():
        few = int(maps) < FEW_MAPS
        advice = "programs with many threads may reach it: raise it with `sysctl vm.max_map_count=65530`"
        yield Finding("map limit", f"{maps} a process", "note" if few else "ok", advice if few else "")
    try:
        import resource
    except ImportError:
        return
    for name, number, unit in (
        ("file size", resource.RLIMIT_FSIZE, " bytes"),
        ("address space", resource.RLIMIT_AS, " bytes"),
        ("open files", resource.RLIMIT_NOFILE, ""),
    ):
        soft = resource.getrlimit(number)[0]
        yield Finding(name, "unlimited" if soft == resource.RLIM_INFINITY else f"{soft}{unit}")


def attach() -> Iterator[Finding]:
    """Check what `clew attach` needs: a free real-time signal, and a private folder for the address."""
    if not hasattr(signal, "SIGRTMIN"):
        yield Finding("attach", "not available: the system has no real-time signals", "note", "use `clew run`")
        return
    possible = [folder for folder in registry.folders() if _can_be_private(folder)]
    if possible:
        yield Finding("attach", f"by signal; addresses are in {possible[0]}")
    else:
        advice = "set XDG_RUNTIME_DIR to a folder that belongs to you and that others cannot enter"
        yield Finding("attach", "not available: no private folder for addresses", "note", advice)
    scope = _text("/proc/sys/kernel/yama/ptrace_scope")
    if hasattr(sys, "remote_exec"):
        allowed = scope in ("", "0") or os.geteuid() == 0
        advice = "" if allowed else "only children can be attached to unprepared; `sysctl kernel.yama.ptrace_scope=0`"
        yield Finding("ptrace", f"scope {scope or 'unrestricted'}", "ok" if allowed else "note", advice)
    elif scope:
        yield Finding("ptrace", f"scope {scope}; clew does not use ptrace on this version of Python")


def shortened(path: str) -> str:
    """Replace the home folder by `~`: reports are public."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if len(home) > 1 and (path + os.sep).startswith(home + os.sep) else path


def _can_be_private(folder: str) -> bool:
    if os.path.lexists(folder):
        return registry.is_private(folder)
    return os.access(os.path.dirname(folder), os.W_OK | os.X_OK)


def _time_of_readings() -> float:
    read = time.perf_counter_ns
    began = read()
    for _ in range(_READINGS):
        read()
    return (read() - began) / _READINGS


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _text(path: str) -> str:
    """Return the text of a file of the kernel's, or an empty string."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
