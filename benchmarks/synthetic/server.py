"""A program of many functions in real files, recorded as `clew run` records: requests through a queue, threads, locks, logs.

Invariant: what is recorded is what the program really did; only how long it goes on depends on the events that are wanted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULES, FUNCTIONS = 20, 12
CALLS = 200
"""Of a request: two events each, and what its queue, its lock and its log lines add."""
THREADS = 4

_MODULE = '''"""Part {number} of a shop that does nothing but call itself."""

{imports}

{functions}
'''
_FUNCTION = '''
def step_{number}(value, depth):
    """Calls on until the request's depth is used up."""
    if depth <= 0:
        return value
    return {callee}(value + {number}, depth - 1)
'''
_MAIN = '''"""Hands requests to threads, which work on them part by part."""

import logging
import queue
import sys
import threading

from shop import {modules}

log = logging.getLogger("shop")
PARTS = [{parts}]
jobs = queue.Queue(64)
lock = threading.Lock()
total = 0


def handle(number):
    """One request."""
    value = work(number)
    if number % 500 == 7:
        log.error("order %d failed: value %d is too large", number, value)
    elif number % 20 == 3:
        log.info("order %d done with value %d", number, value)
    return value


def work(number):
    value = number
    for at in range(8):
        value = PARTS[(number + at) % len(PARTS)](value, {depth})
    return value


def serve():
    global total
    while True:
        number = jobs.get()
        if number is None:
            return
        value = handle(number)
        with lock:
            total += value


def main(requests):
    threads = [threading.Thread(target=serve, name=f"server {{number}}") for number in range({threads})]
    for thread in threads:
        thread.start()
    for number in range(requests):
        jobs.put(number)
    for _ in threads:
        jobs.put(None)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    logging.basicConfig(
        filename="shop.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(filename)s:%(lineno)d %(message)s"
    )
    main(int(sys.argv[1]))
'''
SPEC = """include standard;
logs level INFO;
scope shop.**;
request shop.__main__:handle as order;
"""


def write_program(folder: Path) -> None:
    package = folder / "shop"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    for number in range(MODULES):
        following = (number + 1) % MODULES
        functions = "".join(
            _FUNCTION.format(
                number=each,
                callee=f"step_{each + 1}" if each + 1 < FUNCTIONS else f"part{following}.step_0",
            )
            for each in range(FUNCTIONS)
        )
        imports = f"from shop import part{following}"
        (package / f"part{number}.py").write_text(
            _MODULE.format(number=number, imports=imports, functions=functions.strip())
        )
    names = [f"part{number}" for number in range(MODULES)]
    (package / "__main__.py").write_text(
        _MAIN.format(
            modules=", ".join(names),
            parts=", ".join(f"{name}.step_0" for name in names),
            depth=CALLS // 8 - 2,
            threads=THREADS,
        )
    )
    (folder / "shop.esl").write_text(SPEC)


def record(folder: Path, events: int) -> None:
    """Records a run of about so many events, unless the folder has it."""
    done = folder / f"recorded-{events}"
    if done.exists():
        return
    write_program(folder)
    command = [
        sys.executable,
        "-m",
        "clew",
        "run",
        "--workspace",
        str(folder),
        "--spec",
        "shop.esl",
        "--budget",
        "none",
    ]
    command += ["--quota", "8GB"]
    requests = max(1, events // (2 * CALLS))
    subprocess.run(
        [*command, "--", sys.executable, "-m", "shop", str(requests)], cwd=folder, check=True, env=dict(os.environ)
    )
    done.touch()
