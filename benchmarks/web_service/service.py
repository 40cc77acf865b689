"""Start the web service in a folder of its own, plain or under a tracer, and put load on it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bug_programs.set_up import ROOT, free_port, libraries, server

from web_service.load import Answered, Sent, get, send

PINS = ("fastapi==0.165.0", "uvicorn==0.54.0", "sqlalchemy==2.1.9", "greenlet==3.5.6", "aiosqlite==0.22.1",
        "httpx==0.28.1", "redis==8.1.0")  # fmt: skip
CACHE = ROOT / ".cache" / "web" / "site-packages"
PROGRAMS = ("shop.py", "stock.py", "services.py")
HERE = Path(__file__).parent
STARTS_S, ENDS_S = 120, 60


@dataclass
class Service:
    """A running service."""

    workspace: Path
    port: int
    process: subprocess.Popen[bytes]

    def send(self, requests: Sequence[Sent]) -> list[Answered]:
        return send(self.port, requests)

    def cpu(self) -> float:
        """Return the CPU seconds that the shop has used until now."""
        return float(get(self.port, "/cpu"))


@contextmanager
def service(
    workspace: Path,
    before: Sequence[str] = (),
    runner: Sequence[str] = (),
    *,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Service]:
    """Run the service until the end of the block.

    `before` are the words before the command, such as `clew run --`, `runner` those that run the shop's script instead of
    the interpreter. Raise `OSError` if it cannot be set up.
    """
    found = libraries(PINS, sys.executable, CACHE)
    workspace.mkdir(parents=True)
    (workspace / ".clew").mkdir()
    for name in PROGRAMS:
        shutil.copy(HERE / name, workspace)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    path = os.pathsep.join((str(found), *filter(None, [(variables or {}).get("PYTHONPATH", "")])))
    environment |= {**(variables or {}), "PYTHONPATH": path}
    with server("redis") as redis, tempfile.TemporaryDirectory(prefix="clew-web-", ignore_cleanup_errors=True) as data:
        port = free_port()
        words = [sys.executable, "services.py", *map(str, (port, free_port(), redis)), data, *runner]
        with (workspace / "output").open("wb") as output:
            process = subprocess.Popen(
                [*before, *words], cwd=workspace, env=environment, stdout=output, stderr=output, start_new_session=True
            )
        try:
            _await(port, process, workspace)
            yield Service(workspace, port, process)
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await(port: int, process: subprocess.Popen[bytes], workspace: Path) -> None:
    until = time.monotonic() + STARTS_S
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError):
            get(port, "/cpu")
            return
        time.sleep(0.1)
    last = (workspace / "output").read_text(errors="replace").strip().splitlines()[-1:]
    raise OSError(f"the service does not start: {last}")
