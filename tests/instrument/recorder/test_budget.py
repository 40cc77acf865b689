"""The budget switches the costliest site to counting, and every gap is marked."""

import os
import subprocess
import sys
import threading

import pytest

from clew.records.format.event import FLAG_OVER, Kind
from clew.records.format.header import State
from clew.records.read.reader import read_process
from clew.records.run.directory import trace_files


def test_budget_counts_hottest_site_and_records_others(recording):
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


def test_budget_of_zero_records_every_call(recording):
    recording.start(budget=0.0)
    probe = recording.core.Probe(1, Kind.ENTER)
    for _ in range(20_000):
        ~probe
    assert not probe.counting
    assert len(list(recording.stop().events())) == 20_000


def test_budget_that_suffices_records_every_call(recording):
    recording.start(budget=1000.0)
    probe = recording.core.Probe(1, Kind.ENTER)
    for _ in range(20_000):
        ~probe
    process = recording.stop()
    assert (len(list(process.events())), process.counters) == (20_000, {})


def test_budget_in_next_recording_starts_with_every_site_recorded(recording):
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


def test_budget_with_many_sites_counts_or_records_each_call(recording):
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


def test_budget_counts_survive_a_kill(implementation, tmp_path):
    program = """
import os, sys
from clew.instrument.recorder.core import core
core.start(f"{sys.argv[1]}/{os.getpid()}-{core.uid():016x}.clew", b"{}", 0, 1 << 30, 1e-6)
probe = core.Probe(3, 1)
for _ in range(50_000):
    ~probe
os.kill(os.getpid(), 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env=dict(os.environ),
        capture_output=True,
    )
    assert done.returncode == -9
    (path,) = trace_files(tmp_path)
    process = read_process(path)
    assert process.header.state == State.RECORDING
    recorded = sum(event.kind is Kind.ENTER for event in process.events())
    assert 0 < recorded < 50_000
    assert recorded + process.counters[3] == 50_000


def test_budget_books_actions_once_by_their_time(recording):
    core = recording.core
    recording.start(budget=1.0)  # with credit for 0.1 s at the start, and for 1 s at most
    before = core.emitted()
    for _ in range(10):
        core.emit(Kind.PAYLOAD, 1, 0)
    assert core.emitted() - before == 10
    assert not core.book(1000.0, 1.0)
    assert not core.book(0.0, 0.0)
    assert core.book(1e15, 0.0)
    # The costly action has been reported: the next booking counts from here.
    assert not core.book(1000.0, 1.0)
    recording.stop()
    assert not core.book(1e15, 0.0)


def test_budget_switches_off_site_with_more_cost_than_actions(recording):
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


SECOND = 1_000_000_000
COST = 100.0
BUDGET = 0.01  # 100,000 records of 100 ns a second, and a tenth of that as the first credit


class Load:
    """Calls with a fake clock and cost, so that the recorded ones are known exactly."""

    def __init__(self, recording):
        self.core, self.seconds = recording.core, 0
        recording.start(budget=BUDGET)
        self.core.pretend(0, COST)

    def pass_time(self, seconds=1):
        self.seconds += seconds
        self.core.pretend(self.seconds * SECOND, COST)


def calls_of(process, site):
    """Return the calls as (recorded, counted); check that each recorded call has its begin and end."""
    events = [event.kind for event in process.events() if event.site == site]
    depth = 0
    for kind in events:
        depth += {Kind.ENTER: 1, Kind.EXIT: -1}.get(kind, 0)
        assert depth >= 0
    assert depth == 0
    return events.count(Kind.ENTER), process.counters.get(site, 0)


def gaps(process, site):
    """Return (is the end, number of missing calls) of the site's gap marks."""
    marks = [event for event in process.events() if event.kind is Kind.GAP and event.site == site]
    told = [note.text for note in process.notes if note.key == site]
    assert told == list(dict.fromkeys(mark.extension.text for mark in marks))
    return [(mark.extension.flags, mark.extension.key) for mark in marks]


def test_budget_records_function_again_after_its_load_drops(recording):
    load = Load(recording)
    enter, leave = load.core.Probe(1, Kind.ENTER), load.core.Probe(1, Kind.EXIT)

    def call(times):
        for _ in range(times):
            ~enter
            ~leave

    call(10_000)  # a first credit of 1 ms is 10,000 records
    assert enter.counting
    counted = []
    for _ in range(4):
        load.pass_time()
        call(30_000)  # 6 ms of 1,000: more than half of the budget
    for _ in range(3):
        assert enter.counting
        load.pass_time()
        counted.append(enter.count)
        call(20_000)  # 4 ms
    assert enter.counting
    load.pass_time()
    call(1)
    assert not enter.counting and enter.count == leave.count
    process = recording.stop()
    assert not process.problems
    recorded, missing = calls_of(process, 1)
    assert recorded + missing == 10_000 + 4 * 30_000 + 3 * 20_000 + 1
    assert missing >= 4 * 30_000 + 3 * 20_000
    assert gaps(process, 1) == [(0, 0), (FLAG_OVER, missing)]
    last = [event.kind for event in process.events() if event.site == 1][-3:]
    assert last == [Kind.GAP, Kind.ENTER, Kind.EXIT]


@pytest.mark.slow
def test_budget_doubles_quiet_time_of_function_that_is_hot_again(recording):
    load = Load(recording)
    enter, leave = load.core.Probe(1, Kind.ENTER), load.core.Probe(1, Kind.EXIT)
    waits = []
    for _ in range(7):
        for _ in range(60_000):  # 12 ms
            ~enter
            ~leave
        began = load.seconds
        while enter.counting:
            load.pass_time()
            ~enter
            ~leave
            assert load.seconds < 1000
        waits.append(load.seconds - began)
    assert waits == [4, 6, 12, 24, 48, 96, 96]  # the first time, the counted calls exceeded the limit of one second
    process = recording.stop()
    assert sum(calls_of(process, 1)) == 7 * 60_000 + sum(waits)
    assert [flag for flag, _ in gaps(process, 1)] == [0, FLAG_OVER] * 7
    assert sum(missing for _, missing in gaps(process, 1)) == process.counters[1]


def test_budget_restarts_quiet_time_after_a_busy_second(recording):
    load = Load(recording)
    probe = load.core.Probe(1, Kind.ENTER)
    while not probe.counting:
        ~probe
    for calls in (1, 60_000, 1, 1, 1):
        load.pass_time()
        ~probe  # evaluates the second before
        assert probe.counting
        for _ in range(calls):
            ~probe
    load.pass_time()
    ~probe
    assert not probe.counting


def test_budget_counts_function_while_others_use_the_budget(recording):
    load = Load(recording)
    hot, other = load.core.Probe(1, Kind.ENTER), load.core.Probe(2, Kind.ENTER)
    while not hot.counting:
        ~hot
    for _ in range(10):
        load.pass_time()
        for _ in range(70_000):  # 7 ms of the 10 ms available
            ~other
        ~hot
    assert hot.counting and not other.counting
    for _ in range(5):
        load.pass_time()
        ~hot
    assert not hot.counting


def test_budget_records_running_calls_completely_or_not_at_all(recording):
    load = Load(recording)
    enter, leave = load.core.Probe(1, Kind.ENTER), load.core.Probe(1, Kind.EXIT)
    ~enter
    ~enter
    before = 2
    while not enter.counting:
        ~enter
        ~leave
        before += 1
    ~leave  # was recorded when it began
    ~enter  # is counted
    for _ in range(3):
        load.pass_time()
        ~enter
        ~leave
    load.pass_time()
    ~enter  # recording may begin again, but not inside a counted call
    assert not enter.counting
    ~leave
    ~leave
    ~enter
    ~leave
    ~leave  # was recorded when it began
    process = recording.stop()
    assert not process.problems
    recorded, counted = calls_of(process, 1)
    assert (recorded + counted, recorded - before) == (before + 6, 1)


def test_budget_counted_generator_has_no_end_without_a_begin(recording):
    load = Load(recording)
    enter, leave = load.core.Probe(1, Kind.ENTER), load.core.Probe(1, Kind.EXIT)
    pause, resume, unwind = (load.core.Probe(1, kind) for kind in (Kind.SUSPEND, Kind.RESUME, Kind.UNWIND))
    while not enter.counting:
        ~enter
        ~leave
    for _ in range(10):
        ~enter
        ~pause
        ~resume
        ~pause
        ~unwind  # closed: an exception is thrown into it
    process = recording.stop()
    assert process.counters[1] >= 10
    after = [event.kind for event in process.events() if event.site == 1]
    assert after[after.index(Kind.GAP) :] in ([Kind.GAP], [Kind.GAP, Kind.ENTER])


def test_budget_records_each_thread_again_outside_its_counted_calls(recording):
    load = Load(recording)
    enter, leave = load.core.Probe(1, Kind.ENTER), load.core.Probe(1, Kind.EXIT)
    inside, leaves = threading.Event(), threading.Event()

    def other():
        ~enter
        inside.set()
        leaves.wait()
        ~enter
        ~leave
        ~leave
        ~enter
        ~leave

    while not enter.counting:
        ~enter
        ~leave
    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    inside.wait()
    for _ in range(3):
        load.pass_time()
        ~enter
        ~leave
    assert not enter.counting
    leaves.set()
    thread.join()
    process = recording.stop()
    main, second = process.threads.values()
    assert [event.kind for event in process.events(second.serial)] == [Kind.ENTER, Kind.EXIT]
    assert [event.kind for event in process.events(main.serial)][-3:] == [Kind.GAP, Kind.ENTER, Kind.EXIT]
