"""Read many files at once with worker processes. `python -m clew.esl.index.parallel_read` is such a worker: it reads
paths and modules, one JSON array a line. It answers each with a line of the text's digest and the file's contents,
in the same order.

Invariant: every file is read, even if a worker process fails.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clew.esl.index.declarations import read_contents, unread
from clew.esl.index.serialise import packed

MANY = 200
"""Minimum number of files for worker processes, which take about 0.2 s to start."""
MOST = 8
"""Maximum number of worker processes."""

Job = tuple[str, str]
"""Path and module."""
Read = tuple[str, bytes]
"""Digest of the text ("" for an unreadable file), and the serialized contents."""


def digest_of(source: bytes) -> str:
    return hashlib.blake2b(source, digest_size=16).hexdigest()


def read_file(path: str, module: str) -> Read:
    """Read a file. Never raises."""
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        return "", packed(unread(path, f"cannot be read ({error.strerror})"))
    return digest_of(source), packed(read_contents(source, path, module))


def read_files(jobs: Sequence[Job]) -> Iterator[tuple[Job, Read]]:
    """Yield the results in any order."""
    cores = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST)
    if len(jobs) < MANY or cores < 2:
        yield from _here(jobs)
        return
    shares = [jobs[number::cores] for number in range(cores)]
    with ThreadPoolExecutor(cores, "clew-reading") as threads:
        for share, answers in zip(shares, threads.map(_in_worker, shares), strict=True):
            yield from zip(share, answers, strict=False)
            yield from _here(share[len(answers) :])


def _here(jobs: Iterable[Job]) -> Iterator[tuple[Job, Read]]:
    for job in jobs:
        yield job, read_file(*job)


def _in_worker(jobs: Sequence[Job]) -> list[Read]:
    """Read files in a worker process; return fewer results if the worker fails."""
    text = "".join(json.dumps(job) + "\n" for job in jobs)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "clew.esl.index.parallel_read"], input=text.encode(), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=Path(__file__).anchor, env=_environment(), check=False,
        )  # fmt: skip
    except OSError:
        return []
    return list(_answers(done.stdout.splitlines()))


def _answers(lines: list[bytes]) -> Iterator[Read]:
    for line in lines:
        digest, _, contents = line.partition(b" ")
        if not contents.endswith(b"]"):
            return  # the worker was killed while it wrote
        yield digest.decode(), contents


def _environment() -> dict[str, str]:
    """Return the environment without the variables of a recording, because the worker must not be recorded."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}


def main() -> None:
    # Syntax trees are built and dropped file by file; garbage collection finds no cycles in them and takes a quarter of
    # the time.
    gc.disable()
    for line in sys.stdin.buffer:
        path, module = json.loads(line)
        digest, contents = read_file(path, module)
        sys.stdout.buffer.write(b"%s %s\n" % (digest.encode(), contents))


if __name__ == "__main__":
    main()
