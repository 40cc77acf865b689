"""Waits for the ends of child processes: for which child, with which limit, and how they ended."""

from __future__ import annotations

import pytest

from clew.graph.ops.facts.blockers import Blockers
from clew.graph.store.store import open_graph
from tests.support.programs.named_facts import NamedFacts


def ends(record, source):
    """Return the name, the limit and the end of each wait for a process, and the process that it was for."""
    run = record(source, adapters=("threads", "locks", "processes"))
    assert run.code == 0, run.stderr
    facts = NamedFacts(open_graph(run.folder)[0])
    blockers, found = Blockers.of(facts), []
    for wait in facts.of("process.end"):
        target = blockers.target(wait)
        other = target >= 0 and facts.graph.strands[target].process != wait.begin.process
        found.append((wait.begin.text.name, wait.begin.text.limit, wait.end, other))
    return found


def test_popen_waits_have_name_limit_and_end(record):
    found = ends(
        record,
        """
        import subprocess, sys

        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        try: child.wait(0.05)
        except subprocess.TimeoutExpired: pass
        child.stdin.write(b"x\\n")
        child.stdin.close()
        child.wait()
        child.wait()
        try: subprocess.run(["sleep", "9"], timeout=0.05, capture_output=True)
        except subprocess.TimeoutExpired: pass
        """,
    )
    python = found[0][0]
    assert python.startswith("python")
    assert found[:3] == [
        (python, 0.05, "timeout", True),
        (python, None, "satisfied", True),
        ("sleep", 0.05, "timeout", False),
    ]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_process_join_has_name_limit_and_end(record, method):
    found = ends(
        record,
        f"""
        import multiprocessing

        def child(stop): stop.wait()

        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            stop = context.Event()
            worker = context.Process(target=child, args=(stop,), name="worker")
            worker.start()
            worker.join(0.05)
            stop.set()
            worker.join()
            worker.join()
        """,
    )
    assert [each[:3] for each in found] == [("worker", 0.05, "timeout"), ("worker", None, "satisfied")]
    assert all(other for *_, other in found) or method == "forkserver"


def test_wait_for_child_that_has_ended_is_no_wait(record):
    assert (
        ends(
            record,
            """
        import os, subprocess

        child = subprocess.Popen(["true"], stdout=subprocess.PIPE)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        child.communicate()
        child.wait()
        """,
        )
        == []
    )
