"""Pieces of work on several threads: what they give and raise is what one thread would, and none of them is left behind."""

import os
import signal
import threading
import time

import pytest

from clew.records.read import parallel as module
from clew.records.read.parallel import Ending, both, together


@pytest.fixture(autouse=True)
def nobody_is_left():
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "clew-together"] == []


@pytest.fixture(params=[1, 2, 4])
def cores(request, monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: request.param)
    return request.param


def test_core_count_is_what_the_process_may_use():
    assert 1 <= module.cores() <= (os.cpu_count() or 1)


def test_what_they_give_is_in_their_order(cores):
    assert together(lambda number=number: number * number for number in range(100)) == [n * n for n in range(100)]
    assert together([]) == []
    assert both(lambda: "one", lambda: 2) == ("one", 2)


def test_parallel_work_has_one_part_a_core_in_progress(cores):
    at_once = threading.Barrier(cores)

    def meet():
        at_once.wait()
        return threading.current_thread().name

    names = together([meet] * (2 * cores))
    assert set(names) == {"clew-together" if cores > 1 else threading.current_thread().name}


def test_what_the_first_one_raises_is_raised_and_nothing_is_begun_after_it(cores):
    begun = []

    def work(number):
        begun.append(number)
        if number >= 5:
            raise ValueError(number)

    with pytest.raises(ValueError, match=r"^5$"):
        together(lambda number=number: work(number) for number in range(1000))
    assert sorted(begun) == list(range(len(begun)))
    assert len(begun) <= 5 + cores


def test_an_earlier_one_s_error_counts_although_it_comes_later(monkeypatch):
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


def test_ending_of_parallel_work_is_visible_to_every_thread(monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: 2)
    ending = Ending()

    def long():
        while True:
            ending.look()

    def fails():
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        together([long, fails], ending)


def test_a_ctrl_c_ends_it(monkeypatch):
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
def test_where_no_thread_can_be_started_it_is_done_all_the_same(monkeypatch, started):
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
