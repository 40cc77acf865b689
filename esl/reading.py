"""Reads many files at once, with processes beside this one. `python -m clew.esl.reading` is such a process: it is given paths
and modules, one JSON array a line, and answers each with a line of the text's digest and what the file holds, in that order.

Invariant: whatever becomes of a process beside this one, every file gets read.
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

from clew.esl.functions import read_contents, unread
from clew.esl.plain import packed

MANY = 200
"""Files from which on processes are worth their start, some 0.2 s."""
MOST = 8
"""Processes at most."""

Job = tuple[str, str]
"""Path and module."""
Read = tuple[str, bytes]
"""The text's digest ("" for a file that cannot be read), and what it holds, packed."""


def digest_of(source: bytes) -> str:
    return hashlib.blake2b(source, digest_size=16).hexdigest()


def read_file(path: str, module: str) -> Read:
    """Never raises."""
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        return "", packed(unread(path, f"cannot be read ({error.strerror})"))
    return digest_of(source), packed(read_contents(source, path, module))


def read_files(jobs: Sequence[Job]) -> Iterator[tuple[Job, Read]]:
    """In any order."""
    cores = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST)
    if len(jobs) < MANY or cores < 2:
        yield from _here(jobs)
        return
    shares = [jobs[number::cores] for number in range(cores)]
    with ThreadPoolExecutor(cores, "clew-reading") as threads:
        for share, answers in zip(shares, threads.map(_beside, shares), strict=True):
            yield from zip(share, answers, strict=False)
            yield from _here(share[len(answers) :])


def _here(jobs: Iterable[Job]) -> Iterator[tuple[Job, Read]]:
    for job in jobs:
        yield job, read_file(*job)


def _beside(jobs: Sequence[Job]) -> list[Read]:
    """By a process beside this one; fewer than were asked for when it came to grief."""
    text = "".join(json.dumps(job) + "\n" for job in jobs)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "clew.esl.reading"], input=text.encode(), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=Path(__file__).anchor, env=_environment(), check=False,
        )  # fmt: skip
    except OSError:
        return []
    return list(_answers(done.stdout.splitlines()))


def _answers(lines: list[bytes]) -> Iterator[Read]:
    for line in lines:
        digest, _, contents = line.partition(b" ")
        if not contents.endswith(b"]"):
            return  # it was ended while it wrote
        yield digest.decode(), contents


def _environment() -> dict[str, str]:
    """Nothing of a recorded program's environment: what reads source is nobody's child process."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}


def main() -> None:
    # Trees are made and dropped file by file; looking through them for circles finds none and takes a quarter of the time.
    gc.disable()
    for line in sys.stdin.buffer:
        path, module = json.loads(line)
        digest, contents = read_file(path, module)
        sys.stdout.buffer.write(b"%s %s\n" % (digest.encode(), contents))


if __name__ == "__main__":
    main()
