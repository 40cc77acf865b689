"""Debuggers, profilers and coverage work on a recorded program as on a plain one, and the script that they run is recorded."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

APP = """\
import contextlib
import sys


def work(n):
    total = 0
    for number in range(n):
        if number % 2:
            total += number
        else:
            total -= 1
    return total


class Shop:
    def __init__(self, name):
        self.name = name

    @property
    def label(self):
        return self.name.upper()

    def orders(self):
        try:
            yield work(3)
            yield work(4)
        finally:
            self.name = ""


@contextlib.contextmanager
def opened():
    yield Shop("corner")


def main():
    with opened() as shop:
        print(shop.label, list(shop.orders()))
    try:
        work("none")
    except TypeError as error:
        print(error)
    return [work(number) for number in range(3)]


if __name__ == "__main__":
    print(main(), sys.argv[1:])
"""
PLAIN = {"CLEW_RUN": "", "PYTHONPATH": ""}


def needs(package: str) -> pytest.MarkDecorator:
    """Skip with a hint if a package is missing that `make setup` installs: the environment is out of date."""
    return pytest.mark.skipif(not find_spec(package), reason=f"{package} is missing: pip install -e '.[test]'")


@pytest.fixture
def both(record, tmp_path):
    """`both(words, typed)` runs `python WORDS` plain and recorded, asserts the same exit, and returns both results."""

    def run(words: list[str], app: str = APP, typed: str = "", **environment: str):
        (tmp_path / "typed").write_text(typed)
        command = ["sh", "-c", 'exec "$@" < ../typed', "sh", sys.executable, *words]
        plain, traced = (
            record(app, name="app", command=command, environment={**environment, **more}) for more in (PLAIN, {})
        )
        assert (traced.code, traced.stderr) == (plain.code, plain.stderr)
        return plain, traced

    return run


def functions(recording) -> set[str]:
    """Return the called functions outside the standard library."""
    return {f"{placed.site.module}:{placed.site.qualname}" for placed in recording.events if placed.site}


BREAK = """\
break work
continue
where
args
next
next
p total
step
list
until
return
clear 1
jump 37
tbreak app.py:21
continue
up
p shop.name
down
pp self
display self.name
next
commands
whatis work
continue
"""


def test_pdb_session_output_equals_plain_run(both):
    plain, traced = both(["-m", "pdb", "app.py", "x"], typed=BREAK + "quit\n")
    assert traced.stdout == plain.stdout.replace("\r", "")
    assert "(Pdb) " in plain.stdout and "-> total = 0" in plain.stdout
    assert {"app:work", "app:main"} <= functions(traced)


def test_pdb_post_mortem_output_equals_plain_run(both):
    failing = APP.replace("print(main(), sys.argv[1:])", "work(None)")
    plain, traced = both(
        ["-m", "pdb", "-c", "continue", "app.py"], app=failing, typed="where\np n\nup\nlist\nargs\nquit\n"
    )
    assert traced.stdout == plain.stdout
    assert "Uncaught exception. Entering post mortem debugging" in plain.stdout
    assert functions(traced) == {"app:work"}


@needs("coverage")
@pytest.mark.parametrize("core", ["ctrace", "pytrace", "sysmon"])
def test_coverage_lines_and_branches_equal_plain_run(both, core):
    if core == "sysmon" and sys.version_info < (3, 12):
        core = "ctrace"
    found = []
    for words in (
        ["-m", "coverage", "run", "--branch", "app.py"],
        ["-m", "coverage", "json", "-q", "-o", "-"],
    ):
        found = both(words, COVERAGE_CORE=core)
    plain, traced = (json.loads(recording.stdout)["files"]["app.py"] for recording in found)
    assert plain == traced
    assert plain["executed_lines"] and plain["executed_branches"]


@needs("coverage")
def test_coverage_run_records_the_script(both):
    _, traced = both(["-m", "coverage", "run", "app.py"])
    assert {"app:work", "app:main", "app:Shop.orders", "app:Shop.label"} <= functions(traced)


STATISTICS = """
import pstats, sys
for name in ("plain.prof", "traced.prof"):
    rows = pstats.Stats(name).stats
    # The calls of an import depend on the modules that are imported already.
    print(sorted((*place, *counts[:2]) for place, counts in rows.items() if place[0] == "app.py"))
"""


@pytest.mark.parametrize("profiler", ["cProfile", "profile"])
def test_profiler_call_counts_equal_plain_run(record, profiler):
    for name, environment in (("plain", PLAIN), ("traced", {})):
        command = [sys.executable, "-m", profiler, "-o", f"{name}.prof", "app.py"]
        traced = record(APP, name="app", command=command, environment=environment)
    assert {"app:work", "app:main"} <= functions(traced)
    statistics = record(STATISTICS, environment=PLAIN)
    assert statistics.code == 0, statistics.stderr
    plain, recorded = statistics.stdout.splitlines()
    assert recorded == plain and "app.py" in plain


def test_trace_module_output_equals_plain_run(both):
    plain, traced = both(["-m", "trace", "--trace", "--ignore-module", "contextlib", "app.py"])
    assert traced.stdout == plain.stdout and "app.py(12): " in plain.stdout
    assert {"app:work", "app:main"} <= functions(traced)
    plain, traced = both(["-m", "trace", "--listfuncs", "--trackcalls", "app.py"])
    assert traced.stdout == plain.stdout


def test_doctest_output_equals_plain_run(both):
    app = APP.replace(
        "def work(n):\n", 'def work(n):\n    """\n    >>> work(3)\n    -1\n    >>> work(4) + 1\n    9\n    """\n'
    )
    plain, traced = both(["-m", "doctest", "-v", "app.py"], app=app)
    assert traced.stdout == plain.stdout and "1 failed" in plain.stdout.replace("1 failures", "1 failed")
    assert functions(traced) == {"app:work"}


RUNS = """
import runpy, sys
sys.argv = ["app.py", "by hand"]
with open("app.py") as file:
    code = compile(file.read(), "app.py", "exec")
before = code.co_consts
exec(code, {"__name__": "__main__"})
print(code.co_consts is before)
runpy.run_path("app.py", run_name="other")
space = {}
exec(code, space)
print(space["work"](3), sorted(space)[:3])
exec("def local(): return 5\\nprint(local())")
def caller():
    exec(compile("seen = work(2)", "none.py", "exec"), space, here := {})
    return here
print(caller(), exec.__name__, exec.__self__, exec.__doc__[:20], repr(exec))
try:
    exec(code, 5)
except TypeError as error:
    print(error)
try:
    exec()
except TypeError as error:
    print(error)
"""


def test_code_executed_from_a_file_is_recorded(record):
    files = {"app.py": APP}
    plain, traced = (record(RUNS, files=files, environment=environment) for environment in (PLAIN, {}))
    assert (traced.code, traced.stdout, traced.stderr) == (plain.code, plain.stdout, plain.stderr)
    assert plain.code == 0, plain.stderr
    assert {"app:work", "app:main", "program:caller"} <= functions(traced)


class Client:
    """The part of the debug adapter protocol that is needed to stop at a breakpoint."""

    def __init__(self, port: int) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, "debugpy does not listen"
                time.sleep(0.02)
        self._file = self._socket.makefile("rb")
        self._sequence = 0
        self._events: list[dict] = []

    def send(self, command: str, **arguments: object) -> int:
        self._sequence += 1
        message = {"seq": self._sequence, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return self._sequence

    def ask(self, command: str, **arguments: object) -> dict:
        return self.answer(self.send(command, **arguments))

    def answer(self, sequence: int) -> dict:
        while True:
            message = self._read()
            if message["type"] == "response" and message["request_seq"] == sequence:
                assert message["success"], message
                return message.get("body", {})
            self._events.append(message)

    def event(self, name: str) -> dict:
        while True:
            for message in self._events:
                if message.get("event") == name:
                    self._events.remove(message)
                    return message.get("body", {})
                assert message.get("success", True), message
            self._events.append(self._read())

    def _read(self) -> dict:
        length = 0
        while line := self._file.readline().strip():
            length = int(re.sub(rb"\D", b"", line))
        assert length, "debugpy closed the connection"
        return json.loads(self._file.read(length))


@needs("debugpy")
def test_debugpy_stops_at_a_breakpoint_and_continues(record, tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # The fixture waits for the program, so the client is this file in a separate process.
    command = [sys.executable, __file__, str(port)]
    with subprocess.Popen(command, cwd=workspace, stdout=subprocess.PIPE, text=True) as client:
        command = [sys.executable, "-X", "frozen_modules=off", "-m", "debugpy", "--listen", f"127.0.0.1:{port}"]
        traced = record(APP, name="app", command=[*command, "--wait-for-client", "app.py"])
        seen = json.loads(client.communicate(timeout=60)[0])
    assert traced.code == 0, traced.stderr
    assert traced.stdout.startswith("CORNER [-1, 2]\n")
    assert seen == {"function": "work", "line": 6, "callers": ["orders", "main", "<module>"], "n": "3", "stepped to": 7}
    assert {"app:work", "app:main"} <= functions(traced)


def attach(port: int, again: int = 2) -> tuple[Client, int]:
    """Attach the client; on a busy machine debugpy gives up a connection and accepts the next one."""
    client = Client(port)
    try:
        client.ask("initialize", adapterID="test", pathFormat="path", linesStartAt1=True)
        attached = client.send("attach", justMyCode=False)
        client.event("initialized")
    except (AssertionError, OSError):
        if not again:
            raise
        return attach(port, again - 1)
    return client, attached


def debug(port: int) -> dict[str, object]:
    client, attached = attach(port)
    client.ask("setBreakpoints", source={"path": str(Path("app.py").resolve())}, breakpoints=[{"line": 6}])
    client.ask("configurationDone")
    client.answer(attached)
    thread = client.event("stopped")["threadId"]
    frames = client.ask("stackTrace", threadId=thread)["stackFrames"]
    (scope, *_) = client.ask("scopes", frameId=frames[0]["id"])["scopes"]
    values = client.ask("variables", variablesReference=scope["variablesReference"])["variables"]
    found = {
        "function": frames[0]["name"],
        "line": frames[0]["line"],
        "callers": [frame["name"] for frame in frames[1:]][:2] + ["<module>"],
        "n": next(value["value"] for value in values if value["name"] == "n"),
    }
    client.ask("next", threadId=thread)
    client.event("stopped")
    found["stepped to"] = client.ask("stackTrace", threadId=thread)["stackFrames"][0]["line"]
    client.ask("setBreakpoints", source={"path": str(Path("app.py").resolve())}, breakpoints=[])
    client.ask("continue", threadId=thread)
    with contextlib.suppress(AssertionError):
        client.event("terminated")
    return found


if __name__ == "__main__":
    print(json.dumps(debug(int(sys.argv[1]))))
