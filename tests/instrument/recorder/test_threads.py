"""Every thread has its own stream, complete and in order."""

import json
import resource
import threading
from pathlib import Path

import pytest

from clew.records.format.event import Kind


def test_thread_streams_of_a_hundred_threads_are_complete(recording):
    core = recording.core
    recording.start()
    serials = {}

    def work(number):
        probe = core.Probe(number, Kind.ENTER)
        for count in range(500):
            ~probe
            core.emit(Kind.MARK, number, count)
        serials[number] = core.thread()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 101)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process = recording.stop()
    assert not process.problems
    assert sorted(serials.values()) == list(range(1, 101))
    for number, serial in serials.items():
        events = list(process.events(serial))
        assert [event.site for event in events] == [number] * 1000
        assert [event.extension.key for event in events[1::2]] == list(range(500))


def test_thread_streams_of_short_threads_are_separate(recording):
    recording.start()
    probe = recording.core.Probe(1, Kind.ENTER)
    for _ in range(50):
        thread = threading.Thread(target=lambda: ~probe)
        thread.start()
        thread.join()
    process = recording.stop()
    assert [len(list(process.events(serial))) for serial in process.threads] == [1] * 50


def test_thread_is_defined_with_its_name_at_its_first_record(recording):
    core = recording.core
    native = []

    def work():
        native.append(threading.get_native_id())
        ~core.Probe(1, Kind.ENTER)

    recording.start()
    thread = threading.Thread(target=work, name='odd "näme"\n\\', daemon=True)
    thread.start()
    thread.join()
    (found,) = recording.stop().threads.values()
    assert (found.name, found.native_id, found.daemon) == ('odd "näme"\n\\', native[0], True)


def test_thread_definition_given_later_replaces_the_name(recording):
    core = recording.core
    recording.start()
    ~core.Probe(1, Kind.ENTER)
    text = {"name": "later", "native_id": 5, "daemon": False}
    core.define(Kind.THREAD, core.thread(), json.dumps(text).encode())
    (found,) = recording.stop().threads.values()
    assert (found.name, found.native_id) == ("later", 5)


def test_thread_definition_runs_no_code_of_its_class(recording):
    core = recording.core
    calls = []

    class Odd(threading.Thread):
        def __getattribute__(self, name):
            if threading.get_ident() != main:
                calls.append(name)
            return super().__getattribute__(name)

    main = threading.get_ident()
    recording.start()
    thread = Odd(target=lambda: (calls.clear(), ~core.Probe(1, Kind.ENTER), before.extend(calls)), name="odd")
    before = []
    thread.start()
    thread.join()
    assert before in ([], ["__dict__"])  # the C core does not read even the instance's dictionary
    assert [found.name for found in recording.stop().threads.values()] == ["odd"]


def test_stop_in_one_thread_ends_recording_in_others(recording):
    core = recording.core
    recording.start()
    probe = core.Probe(1, Kind.ENTER)
    go, recorded, stopped = threading.Event(), threading.Event(), threading.Event()

    def work():
        ~probe
        recorded.set()
        stopped.wait(120)
        ~probe
        go.set()

    thread = threading.Thread(target=work)
    thread.start()
    recorded.wait(120)
    process = recording.stop()
    stopped.set()
    thread.join()
    assert go.is_set()
    assert len(list(process.events())) == 1

    recording.start()
    ~probe
    assert [event.thread for event in recording.stop().events()] == [1]


def test_thread_that_outlives_a_recording_has_a_new_stream_in_the_next(recording):
    core = recording.core
    probe = core.Probe(1, Kind.ENTER)
    steps = [threading.Event() for _ in range(4)]

    def work():
        for ready, done in ((steps[0], steps[1]), (steps[2], steps[3])):
            ready.wait(120)
            for _ in range(10):
                ~probe
            done.set()

    thread = threading.Thread(target=work)
    thread.start()
    for ready, done in ((steps[0], steps[1]), (steps[2], steps[3])):
        recording.start()
        ready.set()
        done.wait(120)
        assert len(list(recording.stop().events())) == 10
    thread.join()


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux reports resident pages")
def test_thread_with_few_records_uses_little_memory(run_program):
    done = run_program(
        """
        import threading
        start()
        probe, enough = core.Probe(1, Kind.ENTER), threading.Barrier(801)
        def work():
            ~probe
            enough.wait(); enough.wait()
        threading.stack_size(1 << 18)
        threads = [threading.Thread(target=work) for _ in range(800)]
        for thread in threads: thread.start()
        enough.wait()
        ours, resident = False, 0
        for line in open("/proc/self/smaps"):
            if "-" in line.split()[0]: ours = ".clew" in line
            elif line.startswith("Rss:") and ours: resident += int(line.split()[1])
        print(resident / 800)
        enough.wait()
        """
    )
    assert 0 < float(done.stdout) < 3 * resource.getpagesize() / 1024, done.stderr
