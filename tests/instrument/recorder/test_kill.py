"""The trace of a killed process contains all records up to the kill."""

import mmap
import os
import signal
import struct
import subprocess
import sys
import time

import pytest

from clew.records.format.event import Kind
from clew.records.format.header import State
from clew.records.read.reader import read_process
from clew.records.run.directory import trace_files

PROGRAM = """
import mmap, os, sys
from clew.instrument.recorder.core import core
from clew.records.format.event import Kind
core.start(f"{sys.argv[1]}/{os.getpid()}-{core.uid():016x}.clew", b"{}", 0, 1 << 30, 0.0)
with open(sys.argv[2], "r+b") as file:
    counted = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
enter, number = core.Probe(5, Kind.ENTER), 0
core.define(Kind.STRING, 1, b"channel")
while True:
    number += 1
    EVENT
    counted[0] = number
"""
PLAIN = "~enter"
EXTENDED = 'core.emit(Kind.SEND, 5, number, 1, b"t" * (number % 90))'


@pytest.mark.parametrize("event", [PLAIN, EXTENDED], ids=["plain", "extended"])
@pytest.mark.parametrize("after", [0.0, 0.05])
def test_killed_process_loses_at_most_the_record_it_was_storing(implementation, tmp_path, event, after):
    counter = tmp_path / "counted"
    counter.write_bytes(bytes(8))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("EVENT", event), str(tmp_path), str(counter)],
        env=dict(os.environ),
    )
    with counter.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
        while process.poll() is None and not struct.unpack("Q", shared)[0]:
            time.sleep(0.001)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    (counted,) = struct.unpack("Q", counter.read_bytes())
    (path,) = trace_files(tmp_path)
    found = read_process(path)
    assert found.problems == []
    assert found.header.state == State.RECORDING
    assert found.strings == {1: "channel"}
    events = list(found.events())
    # The record is stored before it is counted: one may be stored and not counted.
    assert counted <= len(events) <= counted + 1
    assert {event.kind for event in events} == {Kind.ENTER if event == PLAIN else Kind.SEND}
    if event == EXTENDED:
        assert [event.extension.key for event in events] == list(range(1, len(events) + 1))
        assert all(event.extension.text == "t" * (event.extension.key % 90) for event in events)


def test_reader_reads_trace_of_running_process(recording):
    recording.start()
    probe = recording.core.Probe(5, Kind.ENTER)
    for _ in range(10_000):
        ~probe
    now = read_process(recording.path)
    assert (now.problems, len(list(now.events()))) == ([], 10_000)
    for _ in range(10_000):
        ~probe
    recording.core.stop()  # truncates the file, while `now` still has it mapped
    assert len(list(now.events())) == 10_000
    assert len(list(read_process(recording.path).events())) == 20_000
