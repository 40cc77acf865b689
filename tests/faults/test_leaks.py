"""The C core releases all memory that it allocates; the allocator's checks are on."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow

PRELUDE = """
import gc, os, sys, threading
from clew.instrument.recorder import _core as core
from clew.records.format.event import Kind

def start(number):
    core.start(f"{sys.argv[1]}/{number}-{core.uid():016x}.clew", b"{}", 0, 1 << 30, 0.0)

def lines(path):
    with open(path) as file:
        return file.readlines()

def memory():
    gc.collect()
    return int(next(line.split()[1] for line in lines("/proc/self/status") if line.startswith("RssAnon")))

def grown(work, rounds):
    for number in range(rounds // 4):
        work(number)
    before, nones = memory(), sys.getrefcount(None)
    handles, maps = len(os.listdir("/proc/self/fd")), len(lines("/proc/self/maps"))
    for number in range(rounds):
        work(rounds + number)
    nones = sys.getrefcount(None) - nones
    assert len(os.listdir("/proc/self/fd")) == handles
    assert len(lines("/proc/self/maps")) - maps < MAPS
    assert abs(nones) < 100, nones
    return memory() - before

# Kept stacks of threads come and go; one that is lost in each round would make a hundred.
MAPS = 25
"""


def run(source: str, folder) -> None:
    """Run it under an allocator that detects double frees, uses after free, and writes beyond an end."""
    given = {
        **os.environ,
        "MALLOC_ARENA_MAX": "1",
        "PYTHONMALLOC": "debug",
        "PYTHONDEVMODE": "1",
        "PYTHONFAULTHANDLER": "1",
    }
    command = [sys.executable, "-W", "error", "-c", PRELUDE + textwrap.dedent(source), str(folder)]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_core_emitting_records_of_all_kinds_leaks_no_reference(tmp_path):
    run(
        """
        start(1)
        probe = core.Probe(1, Kind.ENTER)
        text, key = b"t" * 50, 1 << 70
        def work(number):
            for _ in range(200):
                ~probe
                probe()
                core.emit(Kind.SEND, 1, key + number, 3, text)
                core.emit(kind=Kind.SEND, site=1, key=key, text=text)
                core.define(Kind.STRING, 1, text)
                core.active(), core.uid(), core.problem(), core.thread()
                for wrong in ((), (1, 2), (1, 2, "x"), (1, 2, 3, 4, "no bytes")):
                    try:
                        core.emit(*wrong)
                    except TypeError:
                        pass
        references = [sys.getrefcount(value) for value in (probe, text, key, Kind.SEND)]
        # Mapped pages of the trace do not count as memory of the program.
        assert grown(work, 100) < 300, "KB"
        assert [sys.getrefcount(value) for value in (probe, text, key, Kind.SEND)] == references
        core.stop()
        """,
        tmp_path,
    )


def test_core_started_and_stopped_repeatedly_leaks_nothing(tmp_path):
    run(
        """
        probe = core.Probe(1, Kind.ENTER)
        def work(number):
            start(number)
            threads = [threading.Thread(target=lambda: ~probe) for _ in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for _ in range(5000):
                ~probe
            core.stop()
            core.stop()
            os.unlink(os.path.join(sys.argv[1], *os.listdir(sys.argv[1])))
            try:
                core.start("/nowhere/at/all", b"{}", 0, 1 << 30, 0.0)
            except FileNotFoundError:
                pass
            try:
                core.start(sys.argv[1] + "/x", bytes(5000), 0, 1 << 30, 0.0)
            except OSError:
                pass
        assert grown(work, 100) < 300, "KB"
        """,
        tmp_path,
    )


def test_dropped_probes_release_their_memory(tmp_path):
    run(
        """
        def work(number):
            probes = [core.Probe(site + 1, kind) for site in range(500) for kind in (Kind.ENTER, Kind.EXIT, Kind.UNWIND)]
            for probe in probes:
                ~probe
            for wrong in (0, 256):
                try:
                    core.Probe(1, wrong)
                except ValueError:
                    pass
        # From 3.12 on a probe lives as long as the function that contains it: about 90 bytes each.
        allowed = 300 if sys.version_info < (3, 12) else 100 * 1500 * 96 // 1024 + 300
        found = grown(work, 100)
        assert found < allowed, (found, allowed)
        """,
        tmp_path,
    )
