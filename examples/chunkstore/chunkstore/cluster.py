"""Starts and ends the processes of a cluster. `python -m chunkstore.cluster --data DIR` runs one until Ctrl-C."""

import argparse
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Self

from chunkstore.index import VARIANTS
from chunkstore.meta import META
from chunkstore.replication import GROUP
from chunkstore.wire import JSON, port_file

PATIENCE = 60.0  # seconds within which whatever is waited for must happen, on a slow machine that traces it


class ClusterError(Exception):
    """A process did not do what was expected of it."""


class Cluster:
    """A context manager; none of the processes that it started outlives it."""

    def __init__(self, data: Path, variant: str = VARIANTS[0]) -> None:
        self.data = data
        self._variant = variant
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._generations: Counter[str] = Counter()

    def __enter__(self) -> Self:
        if (self.data / f"{META}.log").exists():
            raise ClusterError(f"{self.data} holds an earlier run: give a new directory")
        self.data.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(PATIENCE / 4)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, *servers: str) -> None:
        """Starts servers and waits until all of them are online."""
        for server in servers:
            self._spawn(server, *(["meta"] if server == META else ["server", "--variant", self._variant]))
        for server in servers:
            self.wait_until(port_file(self.data, server).exists, server, "was online")

    def start_client(self, name: str, *work: str) -> None:
        self._spawn(name, "client", "--work", *work)

    def run_client(self, name: str, *work: str) -> JSON:
        self.start_client(name, *work)
        return self.result(name)

    def first_line(self, client: str) -> str:
        output = self._running[client].stdout
        line = output.readline() if output else ""
        return line or self._fail(client, "ended before it began to work")

    def result(self, client: str, by: signal.Signals | None = None) -> JSON:
        """What a client printed last."""
        lines = self.end(client, by).splitlines()
        result: JSON = json.loads(lines[-1])
        return result

    def end(self, name: str, by: signal.Signals | None = None) -> str:
        """Waits for a process to end, by a signal if one is given, and returns the rest of its output."""
        process = self._running[name]
        if by is not None:
            process.send_signal(by)
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._fail(name, f"did not end within {PATIENCE:.0f} s")
        del self._running[name]
        if status not in (0, -signal.SIGKILL if by is signal.SIGKILL else 0):
            self._fail(name, f"ended with status {status}")
        port_file(self.data, name).unlink(missing_ok=True)
        return process.stdout.read() if process.stdout else ""

    def wait_until(self, condition: Callable[[], bool], name: str, what: str) -> None:
        """Waits for something that a process is to bring about."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if self._running[name].poll() is not None:
                self._fail(name, f"ended with status {self._running[name].returncode} before it {what}")
            if time.monotonic() > deadline:
                self._fail(name, f"took more than {PATIENCE:.0f} s before it {what}")
            time.sleep(0.01)

    def _spawn(self, name: str, role: str, *arguments: str) -> None:
        self._generations[name] += 1
        common = ["--name", name, "--data", str(self.data), "--generation", str(self._generations[name])]
        command = [sys.executable, "-m", "chunkstore", role, *common, *arguments]
        self._running[name] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def _fail(self, name: str, what: str) -> NoReturn:
        raise ClusterError(f"{name} {what}; see {self.data / name}.log and any error above")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path, help="a new or empty directory")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), Cluster(parser.parse_args().data) as cluster:
        cluster.start(META, *GROUP)
        print(f"{META}, {', '.join(GROUP)} are online in {cluster.data}; Ctrl-C ends them", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
