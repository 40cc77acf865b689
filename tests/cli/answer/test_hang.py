"""`clew hang` of real programs: deadlocked threads, a stuck task, an idle server, a main thread that does not answer."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="there are no real-time signals here")

CIRCLE = """
import threading

class Account:
    def __init__(self):
        self.lock = threading.Lock()

def transfer(src, dst, both):
    with src.lock:
        both.wait()
        with dst.lock:
            pass

alice, bob, both = Account(), Account(), threading.Barrier(2)
rent = threading.Thread(target=transfer, args=(alice, bob, both), name="pay-rent")
refund = threading.Thread(target=transfer, args=(bob, alice, both), name="refund")
rent.start(); refund.start()
rent.join()
"""
STUCK = """
import asyncio

async def leak(lock):
    await lock.acquire()

async def write(lock):
    async with lock:
        pass

async def main():
    lock = asyncio.Lock()
    await asyncio.create_task(leak(lock))
    await asyncio.gather(asyncio.create_task(write(lock), name="writer"))

asyncio.run(main())
"""
IDLE = """
import concurrent.futures, http.server, queue, threading

jobs = queue.Queue()
threading.Thread(target=jobs.get, name="worker", daemon=True).start()
pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(int).result()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
thread = threading.Thread(target=server.serve_forever, name="server")
thread.start()
thread.join()
"""
DEAF = """
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
time.sleep(1000)
"""
LATE = """
import threading
lock, inside = threading.Lock(), threading.Event()

def hold():
    lock.acquire()
    try:
        inside.set()
        threading.Event().wait()
    finally:
        lock.release()

threading.Thread(target=hold, name="holder", daemon=True).start()
inside.wait()
lock.acquire()
"""


@pytest.fixture
def hung(shell, until):
    """`hung(source)` starts a program that is ready to be asked; `ask` waits for an answer that passes a test."""
    started = []

    def start(source, *options):
        (shell.folder / "program.py").write_text(textwrap.dedent(source))
        started.append(shell.start("run", *options, "--", sys.executable, "program.py", start_new_session=True))

        def ask(passes):
            def answer():
                done = subprocess.run(
                    shell.command("hang", started[-1].pid, "--json"),
                    cwd=shell.folder,
                    env=shell.env,
                    capture_output=True,
                )
                found = json.loads(done.stdout) if done.returncode == 0 else None
                return found if found and passes(found) else None

            return until(answer)

        return ask, started[-1].pid

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def waits(found, state):
    return {wait["who"]: wait for wait in found["waits"] if wait["state"] == state}


def test_hang_two_locks_of_a_process_names_the_circle(hung, shell):
    ask, pid = hung(CIRCLE, "--off")
    found = ask(lambda found: found["circles"])
    assert found["source"] == "stacks" and found["certainty"] == "inferred"
    assert [set(circle) for circle in found["circles"]] == [{"pay-rent", "refund"}]
    text = found["verdict"][0]["text"]
    assert "pay-rent waits for dst.lock (transfer, program.py:11); refund seems to hold it, as src.lock" in text
    assert text.endswith(": a deadlock.")
    assert set(waits(found, "blocked")) == {"pay-rent", "refund", "MainThread"}
    printed = shell("hang", pid).stdout
    assert re.search(r"^circle: (refund → pay-rent → refund|pay-rent → refund → pay-rent)$", printed, re.M)
    assert "MainThread  the end of pay-rent" in printed


def test_hang_stuck_task_names_what_it_waits_for(hung):
    ask, _ = hung(STUCK, "--off")
    found = ask(lambda found: waits(found, "blocked"))
    blocked = waits(found, "blocked")
    assert blocked["writer"]["what"] == "lock" and blocked["writer"]["where"] == "write, program.py:8"
    assert blocked["Task-1"]["what"] == "the end of writer"
    assert found["verdict"] == [] and found["summary"].startswith("No cause was found, but 2 threads and tasks")


def test_hang_idle_server_hangs_in_nothing(hung):
    ask, _ = hung(IDLE, "--off")
    found = ask(lambda found: {"server", "worker"} <= set(waits(found, "idle")))
    assert found["verdict"] == [] and found["circles"] == []
    assert not waits(found, "blocked")
    assert found["summary"].startswith("Nothing is known to hang: ")


def test_hang_holder_in_a_try_is_inferred_and_not_a_verdict(hung):
    ask, _ = hung(LATE, "--off")
    found = ask(lambda found: waits(found, "blocked"))
    main = waits(found, "blocked")["MainThread"]
    assert main["what"] == "lock" and main["inferred"]
    assert main["holders"] == ["holder seems to hold it, as lock (hold, program.py:9)"]
    assert found["verdict"] == []


def test_hang_deaf_main_thread_tells_what_the_system_says(hung, shell):
    ask, pid = hung(DEAF, "--off")
    found = ask(lambda found: found["source"] == "system")
    assert "The main thread did not return to Python within 1 s" in found["summary"]
    assert found["threads"][0]["state"].startswith("S")
    assert found["limits"] and found["certainty"] == "unknown"
    assert "S (sleeping)" in shell("hang", pid).stdout


def test_hang_unprepared_process_says_how_to_prepare_it(shell):
    process = subprocess.Popen(["sleep", "1000"])
    try:
        (shell.folder / ".clew" / "runs").mkdir(parents=True)
        error = shell("hang", process.pid, code=2).stderr
        assert f"process {process.pid} is neither recorded nor ready to be asked; record it" in error
        assert "clew run --off" in error
    finally:
        process.kill()
        process.wait()


def test_hang_process_that_does_not_exist_is_an_error(shell):
    (shell.folder / ".clew" / "runs").mkdir(parents=True)
    assert "process 4194399 does not exist" in shell("hang", 4194399, code=2).stderr


def test_hang_recorded_deadlock_is_answered_live_and_after_a_kill(hung, shell, until):
    ask, pid = hung(CIRCLE, "--name", "bank")
    found = ask(lambda found: len(waits(found, "blocked")) == 3)
    assert found["source"] == "records" and found["certainty"] == "recorded"
    blocked = waits(found, "blocked")
    assert set(blocked) == {"pay-rent", "refund", "MainThread"}
    assert blocked["refund"]["what"] == "dst.lock" and blocked["refund"]["where"] == "transfer, program.py:11"
    assert blocked["refund"]["holders"][0].startswith("pay-rent took it ")
    (program,) = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()[:1]
    assert shell("hang", program).stdout.startswith("run bank (")
    os.kill(int(program), signal.SIGKILL)
    after = until(lambda: (done := json.loads(shell("hang", "bank", "--json").stdout))["run"]["finished"] and done)
    assert {frozenset(circle) for circle in after["circles"]} == {frozenset({"pay-rent", "refund"})}
    assert set(waits(after, "blocked")) == {"pay-rent", "refund", "MainThread"}


def test_hang_recorded_idle_server_hangs_in_nothing(hung):
    ask, _ = hung(IDLE)
    found = ask(lambda found: found["run"] and "worker" in waits(found, "idle"))
    assert found["source"] == "records" and found["verdict"] == [] and not waits(found, "blocked")
