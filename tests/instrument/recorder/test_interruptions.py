"""Signals, finalizers, trace functions, a closed stderr and interpreter exit: a record inside another one."""

import gc
import itertools
import signal
import sys

from clew.records.format.event import Kind


def test_recorder_interrupted_by_recording_signal_handler_loses_no_record(recording):
    core = recording.core
    inside, outside = core.Probe(1, Kind.ENTER), core.Probe(2, Kind.ENTER)
    handled = []
    numbers = itertools.count()

    def handler(signal_number, frame):  # sometimes interrupted itself
        number = next(numbers)
        ~inside
        core.emit(Kind.MARK, 1, number, 0, b"signal")
        core.define(Kind.STRING, number + 10, b"from a handler")
        handled.append(number)

    old = signal.signal(signal.SIGALRM, handler)
    recording.start()
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        stored = 0
        while len(handled) < 40:
            ~outside
            core.emit(Kind.SEND, 2, stored, 0, b"s" * (stored % 40))
            core.define(Kind.STRING, 1, b"one")
            stored += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    process = recording.stop()
    assert not process.problems
    events = list(process.events())
    assert sorted(e.extension.key for e in events if e.kind is Kind.MARK) == sorted(handled)
    assert [e.extension.key for e in events if e.kind is Kind.SEND] == list(range(stored))
    assert sum(e.kind is Kind.ENTER and e.site == 2 for e in events) == stored
    assert len(process.strings) == len(handled) + 1


def test_recorder_interrupted_by_recording_trace_function_loses_no_record(recording):
    core = recording.core
    inside, outside = core.Probe(1, Kind.ENTER), core.Probe(2, Kind.ENTER)
    traced = []

    def trace(frame, event, argument):
        traced.append(event)
        sys.settrace(None)
        ~inside
        sys.settrace(trace)
        return trace

    recording.start()
    sys.settrace(trace)
    try:
        for _ in range(200):
            ~outside
    finally:
        sys.settrace(None)
    process = recording.stop()
    sites = [event.site for event in process.events()]
    assert not process.problems
    assert sites.count(2) == 200
    assert sites.count(1) == len(traced)


def test_recorder_interrupted_by_recording_finalizer_loses_no_record(recording):
    core = recording.core
    probe = core.Probe(1, Kind.EXIT)
    dead = []

    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            dead.append(~probe)

    recording.start()
    for number in range(5000):
        Cycle()
        core.emit(Kind.MARK, 2, number)
    gc.collect()
    process = recording.stop()
    assert not process.problems
    assert sum(event.site == 1 for event in process.events()) == len(dead) == 5000
    assert sum(event.site == 2 for event in process.events()) == 5000


def test_recorder_interrupted_inside_a_record_leaves_trace_valid(recording):
    core = recording.core
    probe = core.Probe(1, Kind.ENTER)

    class Interrupt(Exception):
        pass

    def handler(number, frame):
        raise Interrupt

    old = signal.signal(signal.SIGALRM, handler)
    # The interpreter swallows an exception that a handler raises while one of these callbacks runs (hypothesis has one).
    others = gc.callbacks.copy()
    gc.callbacks.clear()
    recording.start()
    interrupted = stored = 0
    try:
        for interrupted in range(1, 151):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00005 + interrupted % 50 * 5e-6)
                for _ in range(1_000_000):
                    ~probe
                    core.emit(Kind.MARK, 1, stored, 0, b"m" * 20)
                    stored += 1
                # This call checks for signals: the interpreter's loop may miss a signal that arrives while it takes its lock.
                signal.signal(signal.SIGALRM, handler)
                raise AssertionError("the handler's exception was swallowed")
            except Interrupt:
                continue
    finally:
        signal.signal(signal.SIGALRM, old)
        gc.callbacks[:] = others
    core.emit(Kind.MARK, 2, 0)
    process = recording.stop()
    assert not process.problems
    events = list(process.events())
    assert events[-1].site == 2
    marks = sum(event.kind is Kind.MARK and event.site == 1 for event in events)
    assert stored - interrupted <= marks <= stored + interrupted


def test_recorder_during_interpreter_exit_leaves_trace_valid(run_program, read_all):
    done = run_program(
        """
        import atexit, threading, time
        from pathlib import Path
        from clew.instrument.recorder import lifecycle
        from clew.records.plan.plan import Plan
        lifecycle.start(Path(FOLDER), Plan())
        probe = core.Probe(1, Kind.ENTER)
        class Late:
            def __del__(self, probe=probe, emit=core.emit, define=core.define):
                ~probe
                emit(8, 1, 1)
                define(65, 1, b"late")
        keep = Late()
        def spin():
            while True:
                ~probe
        threading.Thread(target=spin, daemon=True).start()
        atexit.register(lambda: core.emit(Kind.MARK, 2, 3))
        sys.modules["late"] = Late()
        time.sleep(0.01)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (process,) = read_all()
    assert not process.problems
    assert [event.extension.key for event in process.events() if event.site == 2] == [3]


def test_recorder_with_closed_stderr_stops_without_error(run_program):
    done = run_program(
        """
        os.close(2)
        start(quota=100)
        ~core.Probe(1, Kind.ENTER)
        print(core.active(), bool(core.problem()))
        """
    )
    assert (done.returncode, done.stdout) == (0, "False True\n")


def test_recorder_before_exec_leaves_a_readable_file(run_program, read_all):
    done = run_program(
        """
        start()
        ~core.Probe(1, Kind.ENTER)
        os.execv("/bin/echo", ["echo", "replaced"])
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "replaced\n", "")
    (process,) = read_all()
    assert (process.problems, len(list(process.events()))) == ([], 1)


def test_recorder_descriptor_is_not_inherited_by_child_programs(run_program):
    done = run_program(
        """
        import subprocess
        start()
        ~core.Probe(1, Kind.ENTER)
        print(subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, capture_output=True, text=True).stdout)
        """
    )
    assert ".clew" not in done.stdout
