"""Work on several threads: results and errors equal those of one thread, and all threads end."""

import os
import signal
import threading
import time

import pytest

from clew.records.read import parallel as module
from clew.records.read.parallel import Ending, both, together


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "clew-together"] == []


@pytest.fixture(params=[1, 2, 4])
def cores(request, monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: request.param)
    return request.param


def test_core_count_is_within_the_machines_cores():
    assert 1 <= module.cores() <= (os.cpu_count() or 1)


def test_together_returns_results_in_order(cores):
    assert together(lambda number=number: number * number for number in range(100)) == [n * n for n in range(100)]
    assert together([]) == []
    assert both(lambda: "one", lambda: 2) == ("one", 2)


def test_together_runs_one_part_per_core(cores):
    at_once = threading.Barrier(cores)

    def meet():
        at_once.wait()
        return threading.current_thread().name

    names = together([meet] * (2 * cores))
    assert set(names) == {"clew-together" if cores > 1 else threading.current_thread().name}


def test_together_raises_first_error_and_starts_no_further_part(cores):
    begun = []

    def work(number):
        begun.append(number)
        if number >= 5:
            raise ValueError(number)

    with pytest.raises(ValueError, match=r"^5$"):
        together(lambda number=number: work(number) for number in range(1000))
    assert sorted(begun) == list(range(len(begun)))
    assert len(begun) <= 5 + cores


def test_together_raises_error_of_earliest_part_even_if_it_is_later(monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: 2)
    raised = threading.Event()

    def earlier():
        raised.wait()
        raise KeyError("earlier")

    def later():
        raised.set()
        raise ValueError("later")

    with pytest.raises(KeyError, match="earlier"):
        together([earlier, later])


def test_together_ending_is_visible_to_every_thread(monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: 2)
    ending = Ending()

    def long():
        while True:
            ending.look()

    def fails():
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        together([long, fails], ending)


def test_together_interrupted_by_ctrl_c_ends_every_part(monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: 2)
    ending, seen = Ending(), []

    def long():
        seen.append("begun")
        try:
            while True:
                ending.look()
                time.sleep(0.001)
        finally:
            seen.append("ended")

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        long()

    with pytest.raises(KeyboardInterrupt):
        together([long, interrupt, long, long], ending)
    assert sorted(seen) == ["begun", "begun", "ended", "ended"]


@pytest.mark.parametrize("started", [0, 1])
def test_together_without_new_threads_completes_the_work(monkeypatch, started):
    monkeypatch.setattr(module, "cores", lambda: 4)
    start, calls = threading.Thread.start, []

    def no_more(thread):
        calls.append(thread)
        if len(calls) > started:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", no_more)
    assert together(lambda number=number: number for number in range(10)) == list(range(10))
    assert len(calls) == started + 1
