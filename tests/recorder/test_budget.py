"""The budget switches the hottest site to counting, and every gap is said."""

import os
import subprocess
import sys

from clew.records.event import Kind
from clew.records.header import State
from clew.records.reader import read_process
from clew.records.run import trace_files


def test_the_hottest_site_is_counted_and_the_others_stay(recording):
    core = recording.core
    recording.start(budget=1e-6)
    hot = [core.Probe(1, Kind.ENTER), core.Probe(1, Kind.EXIT)]
    rare = core.Probe(2, Kind.ENTER)
    calls = 0
    while not hot[0].counting:
        ~hot[0]
        ~hot[1]
        calls += 1
        if calls % 100 == 0:
            ~rare
        assert calls < 10_000_000
    assert hot[1].counting and not rare.counting
    later = core.Probe(1, Kind.ENTER)
    assert later.counting
    before = hot[0].count
    for _ in range(1000):
        ~hot[0]
        ~hot[1]
        later()
    ~rare
    assert hot[0].count == before + 2000
    process = recording.stop()
    assert not process.problems
    events = list(process.events())
    enters = sum(event.kind is Kind.ENTER and event.site == 1 for event in events)
    # Every call is either recorded or counted.
    assert enters + process.counters[1] == calls + 2000
    (gap,) = [event for event in events if event.kind is Kind.GAP]
    assert gap.site == 1
    assert "budget" in gap.extension.text
    assert [(note.key, note.text) for note in process.notes] == [(1, gap.extension.text)]
    assert events[-1].site == 2


def test_without_a_budget_nothing_is_switched_off(recording):
    recording.start(budget=0.0)
    probe = recording.core.Probe(1, Kind.ENTER)
    for _ in range(20_000):
        ~probe
    assert not probe.counting
    assert len(list(recording.stop().events())) == 20_000


def test_a_generous_budget_records_everything(recording):
    recording.start(budget=1000.0)
    probe = recording.core.Probe(1, Kind.ENTER)
    for _ in range(20_000):
        ~probe
    process = recording.stop()
    assert (len(list(process.events())), process.counters) == (20_000, {})


def test_the_next_recording_starts_with_every_site_recorded(recording):
    recording.start(budget=1e-6)
    probe = recording.core.Probe(1, Kind.ENTER)
    for _ in range(20_000):
        ~probe
    assert probe.counting
    recording.stop()
    assert not probe.counting
    recording.start()
    for _ in range(10):
        ~probe
    assert len(list(recording.stop().events())) == 10


def test_many_sites_are_counted_each_in_its_place(recording):
    core = recording.core
    recording.start(budget=1e-9)
    probes = [core.Probe(site, Kind.ENTER) for site in range(1, 21)]
    calls = dict.fromkeys(range(1, 21), 0)
    for number in range(200_000):
        probe = probes[number // 5000 % 20]
        ~probe
        calls[probe.site] += 1
    process = recording.stop()
    assert not process.problems
    recorded = dict.fromkeys(calls, 0)
    for event in process.events():
        if event.kind is Kind.ENTER:
            recorded[event.site] += 1
    assert len(process.counters) > 5
    assert {site: recorded[site] + process.counters.get(site, 0) for site in calls} == calls


def test_counts_survive_a_kill(implementation, tmp_path):
    program = """
import os, sys
from clew.instrument.recorder.select import core
core.start(f"{sys.argv[1]}/{os.getpid()}-{core.uid():016x}.clew", b"{}", 0, 1 << 30, 1e-6)
probe = core.Probe(3, 1)
for _ in range(50_000):
    ~probe
os.kill(os.getpid(), 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "CLEW_RECORDER": implementation},
        capture_output=True,
    )
    assert done.returncode == -9
    (path,) = trace_files(tmp_path)
    process = read_process(path)
    assert process.header.state == State.RECORDING
    recorded = sum(event.kind is Kind.ENTER for event in process.events())
    assert 0 < recorded < 50_000
    assert recorded + process.counters[3] == 50_000


def test_actions_are_booked_by_what_they_took_and_not_twice(recording):
    core = recording.core
    recording.start(budget=1.0)  # with credit for 0.1 s at the start, and for 1 s at most
    before = core.emitted()
    for _ in range(10):
        core.emit(Kind.PAYLOAD, 1, 0)
    assert core.emitted() - before == 10
    assert not core.book(1000.0, 1.0)
    assert not core.book(0.0, 0.0)
    assert core.book(1e15, 0.0)
    # Whoever was dear has been named: the next one is judged by what is spent from here on.
    assert not core.book(1000.0, 1.0)
    recording.stop()
    assert not core.book(1e15, 0.0)


def test_records_are_judged_when_they_are_the_greater_part(recording):
    core = recording.core
    recording.start(budget=1e-6)
    probe = core.Probe(1, Kind.ENTER)
    calls = 0
    while not probe.counting:
        ~probe
        calls += 1
        if calls % 1000 == 0:
            core.book(1.0, 0.0)
        assert calls < 10_000_000
    process = recording.stop()
    assert sum(event.kind is Kind.ENTER for event in process.events()) + process.counters.get(1, 0) == calls
