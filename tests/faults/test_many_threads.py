"""A program with many threads, in sequence and concurrent, behaves as untraced, and each thread has exactly its records."""

from __future__ import annotations

import pytest

from clew.records.plan.plan import Plan, Rule, Target
from tests.support.programs.fault_programs import quiet

THREADS = """
import sys, threading

def work(number):
    return number + 1

ended = []

def one(number):
    ended.append(work(number))

for first in range(0, COUNT, 50):
    threads = [threading.Thread(target=one, args=(first + number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(ended), sum(ended))
"""


@pytest.mark.slow
def test_program_with_ten_thousand_threads_is_recorded_completely(both, tmp_path):
    count = 10_000
    plan = Plan(rules=(Rule(Target("**", "**", root=str(tmp_path))),), quota=8 << 30)
    done = both(THREADS.replace("COUNT", str(count)), plan=plan)
    quiet(done)
    process = done.process
    assert process.problems == []
    assert done.calls("work") == count
    # All threads but the main thread have exactly four records: two functions, each with its begin and end.
    sizes = {len(list(process.events(serial))) for serial in process.threads if serial != 1}
    assert sizes == {4}
    assert len(process.threads) == count + 1


@pytest.mark.slow
def test_program_with_as_many_threads_as_possible_behaves_as_untraced(both, tmp_path):
    count = 2000
    plan = Plan(rules=(Rule(Target("**", "**", root=str(tmp_path))),), quota=8 << 30)
    done = both(
        f"""
        import sys, threading

        threading.stack_size(64 << 10)
        go = threading.Event()

        def work(number):
            return number + 1

        def one():
            ended.append(work(1))
            go.wait()
            ended.append(work(2))

        ended, threads = [], []
        try:
            for _ in range({count}):
                thread = threading.Thread(target=one)
                thread.start()
                threads.append(thread)
        except RuntimeError as error:
            print(error)
        go.set()
        for thread in threads:
            thread.join()
        print(len(threads), sum(ended))
        """,
        plan=plan,
    )
    quiet(done)
    assert done.process.problems == []
    assert done.stdout == f"{count} {5 * count}\n"
    assert done.calls("work") == 2 * count
