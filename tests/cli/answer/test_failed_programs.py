"""The answers of the commands about failed programs, and about log files without the suffix `.log`."""

import json
import re
import subprocess
import sys

import pytest

RAISES = """\
import atexit
atexit.register(lambda: None)
def load(text):
    return int(text)
def main():
    load("x")
main()
"""
LOGS = """\
import logging
logging.basicConfig(filename="server.log.1", format="%(asctime)s %(levelname)s %(message)s")
def work(number):
    logging.error("work failed")
work(1)
work(2)
"""


@pytest.fixture
def record(shell):
    def run(text, *options, code=0):
        (shell.folder / "app.py").write_text(text)
        command = shell.command("run", "--workspace", ".", *options, "--", sys.executable, "app.py")
        done = subprocess.run(command, cwd=shell.folder, env=shell.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr
        return done

    return run


def test_why_of_failed_program_explains_exception_that_ended_it(shell, record):
    record(RAISES, code=1)
    (answer,) = json.loads(shell("why", "--json").stdout)["answers"]
    title = "ValueError: invalid literal for int() with base 10: 'x' ended thread MainThread"
    assert answer["title"] == title
    said = shell("path").stdout.splitlines()[0]
    assert title in said
    assert "nothing failed" not in said


def test_path_of_failed_program_without_exception_names_the_exit_code(shell, record):
    record("import os\ndef main():\n    pass\nmain()\nos._exit(7)\n", code=7)
    said = shell("path").stdout.splitlines()[0]
    assert "the last event, as the program ended with 7" in said


def test_why_at_accepts_any_non_source_file_as_a_log(shell, record):
    record(LOGS)
    lines = (shell.folder / "server.log.1").read_text().splitlines()
    (shell.folder / "copy.txt").write_text("\n".join(["a heading", *lines]))
    assert (
        json.loads(shell("why", "--at", "server.log.1:1", "--json").stdout)["answers"][0]["title"]
        == "ERROR work failed"
    )
    assert "ERROR work failed" in shell("why", "--at", "copy.txt:2").stdout
    assert "did not write the line 'a heading'" in shell("why", "--at", "copy.txt:1", code=1).stderr


KILLED = """\
import logging, os, signal
def main():
    logging.error("about to die")
    os.kill(os.getpid(), signal.SIGKILL)
main()
"""


def test_answers_about_a_killed_process_say_that_it_died(shell, record):
    done = record(KILLED, code=137)
    assert re.search(r"process \d+ was killed while it was recorded; all events before that are available", done.stderr)
    assert "died while it was recorded" in shell("slice", "--where", "text~about").stderr
    assert "died while it was recorded" in shell("why", "about").stderr
    assert "died while it was recorded" in shell("runs").stdout
    assert "died while it was recorded" in json.loads(shell("runs", "--json").stdout)["runs"][0]["problems"][0]
    for command in (["why", "about"], ["path", "about"], ["slice", "--where", "text~about"], ["aggregate"]):
        (problem,) = json.loads(shell(*command, "--json").stdout)["run"]["problems"]
        assert "died while it was recorded" in problem
    for command in (["why", "zzz"], ["slice", "--where", "text~zzz"]):
        assert "died while it was recorded" in shell(*command, code=1).stderr


def test_runs_of_process_that_ends_normally_has_no_problems(shell, record):
    assert "was killed" not in record(LOGS).stderr
    assert json.loads(shell("runs", "--json").stdout)["runs"][0]["problems"] == []


def test_slice_invalid_condition_is_quoted_as_typed(shell, record):
    record(LOGS)
    assert "'text=~(': not a regular expression" in shell("slice", "--where", "text=~(", code=2).stderr


POOLED = """\
import logging
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool
def scale(number):
    return 100 // number
def of_pool():
    with Pool(1) as pool:
        return pool.map(scale, [5, 0])
def of_executor():
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(scale, 0).result()
if __name__ == "__main__":
    for way in of_pool, of_executor:
        try:
            way()
        except ZeroDivisionError:
            logging.error("%s failed", way.__name__)
"""


@pytest.mark.parametrize("way", ["of_pool", "of_executor"])
def test_why_of_exception_from_a_process_pool_names_the_line_of_the_worker(shell, record, way):
    record(POOLED)
    verdict = shell("why", f"{way} failed").stdout.split("\n\n")[2]
    assert "raised in scale, app.py:5, in the worker process app #" in verdict
    assert "RemoteTraceback" not in verdict


TIME_LIMIT = """\
import asyncio, logging
async def refresh():
    await asyncio.sleep(60)
async def main():
    task = asyncio.create_task(refresh(), name="refresh")
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    orders = asyncio.Queue()
    try:
        await asyncio.wait_for(orders.get(), 0.1)
    except asyncio.TimeoutError:
        logging.error("no order came")
asyncio.run(main())
"""


def test_why_after_a_time_limit_tells_neither_its_helper_task_nor_one_cancelled_before(shell, record):
    record(TIME_LIMIT)
    (answer,) = json.loads(shell("why", "no order came", "--json").stdout)["answers"]
    told = [sentence["text"] for sentence in answer["answer"]["sentences"]]
    assert told[0] == "It was written while handling TimeoutError, raised in main, app.py:11."
    assert told[-1].startswith("main (Task-1) waited ") and told[-1].endswith(" until its time limit.")
    assert not [text for text in told if "refresh" in text or "Task-3" in text]


TAKEN = """\
import asyncio, sys
async def load(name):
    await asyncio.sleep(0.01)
    raise ValueError(name)
async def main():
    await asyncio.gather(load("taken"), return_exceptions=True)
    if len(sys.argv) > 1:
        task = asyncio.create_task(load("lost"))
        await asyncio.sleep(0.1)
asyncio.run(main())
"""


@pytest.mark.parametrize("lost", [False, True])
def test_errors_of_a_program_has_no_exception_that_another_task_took(shell, record, lost):
    record(TAKEN.replace("len(sys.argv) > 1", str(lost)))
    said = shell("why", "--errors").stdout
    assert ("): 1 ERROR line, 1 cause\n" if lost else "): no error was recorded\n") in said
    assert "ValueError: taken" not in said
    assert ("ValueError: lost" in said) == lost


CALLED_AGAIN = """\
import http.server, logging, socket, threading, time, urllib.error, urllib.request
class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/slow":
            time.sleep(0.5)
        self.send_error(500)
    def log_message(self, *_):
        pass
def get(url):
    try:
        urllib.request.urlopen(url, timeout=0.2)
    except urllib.error.HTTPError:
        logging.error("the shop is empty")
    except OSError:
        logging.error("the shop is slow")
shop = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
threading.Thread(target=shop.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{shop.server_port}"
get(url)
get(f"{url}/slow")
with socket.create_server(("127.0.0.1", 0)) as closed:
    port = closed.getsockname()[1]
try:
    urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5)
except OSError:
    logging.error("the shop is closed")
"""


def test_why_does_not_tell_what_a_function_got_before_it_was_called_again(shell, record):
    record(CALLED_AGAIN)
    (answer,) = json.loads(shell("why", "the shop is closed", "--json").stdout)["answers"]
    assert not [sentence for sentence in answer["answer"]["sentences"] if "read bytes" in sentence["text"]]
