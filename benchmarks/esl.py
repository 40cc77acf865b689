"""The source index of a workspace of 5,000 files, beside `ast.parse` of the same files and rope's index of names.

Asked: cold in less than 10 s on two cores, one changed file in less than 50 ms, ready from the disk in less than 1 s. The files
are those of packages that are installed here, drawn at random. Ours and peers take turns; a ratio is of processor time,
which the machine's other work changes less than the clock's.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew import esl
from clew.esl import SourceIndex

CHANGED = "\n\ndef added_by_the_benchmark(value): return value\n"
RULES = (
    "scope async {0}.**; scope {0}.** decorated by property, *.route; scope {0}.** in subclasses of builtins:Exception;"
)


def corpus(folder: Path, number: int) -> tuple[int, int]:
    """Copies source files of the interpreter's packages; how many, and their bytes."""
    from sysconfig import get_paths

    paths = get_paths()
    found = []
    for base in dict.fromkeys((paths["purelib"], paths["stdlib"])):
        for place, folders, names in os.walk(base):
            folders[:] = sorted(name for name in folders if name not in ("site-packages", "__pycache__"))
            found += [(base, os.path.join(place, name)) for name in sorted(names) if name.endswith(".py")]
    chosen = random.Random(1).sample(found, min(number, len(found)))
    size = 0
    for base, file in chosen:
        target = folder / os.path.relpath(file, base)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        size += target.stat().st_size
    return len({os.path.relpath(file, base) for base, file in chosen}), size


def processor() -> float:
    """Seconds that this process and those that it waited for have had."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """By the clock, of the processor, and the result."""
    clock, before = time.perf_counter(), processor()
    result = work()
    return time.perf_counter() - clock, processor() - before, result


def whole(folder: Path) -> tuple[SourceIndex, int]:
    index = SourceIndex(folder)
    return index, sum(1 for _ in index.all_functions())


def refreshed(index: SourceIndex) -> int:
    index.refresh()
    index.read(index.files)
    return len(index.files)


def beside(what: str, folder: Path) -> dict[str, float]:
    """Something done by a process of its own, so that nothing is left over from before."""
    command = [sys.executable, __file__, "--only", what, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def parse_all(folder: Path) -> int:
    gc.disable()  # as the index's own processes do
    read = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file in sorted(folder.rglob("*.py")):
            try:
                ast.parse(file.read_bytes(), str(file))
            except (SyntaxError, ValueError, RecursionError):
                continue
            read += 1
    return read


def rope_all(folder: Path) -> int:
    from rope.base.project import Project
    from rope.contrib.autoimport.sqlite import AutoImport

    project = Project(str(folder), ropefolder=None)
    names = AutoImport(project, memory=True)
    names.generate_cache()
    return len(list(names.search_full("")))


def only(what: str, folder: Path) -> None:
    work: dict[str, Callable[[], Any]] = {
        "index": lambda: whole(folder)[1],
        "parse": lambda: parse_all(folder),
        "rope": lambda: rope_all(folder),
    }
    clock, used, count = timed(work[what])
    print(json.dumps({"clock": clock, "used": used, "count": count}))


def measure(number: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="clew-esl-") as place:
        folder = Path(place)
        files, size = corpus(folder, number)
        print(f"{files:,} files, {size / 1e6:.0f} MB")
        cold, parsed, warm, peers = [], [], [], []
        for _ in range(rounds):
            shutil.rmtree(folder / ".clew", ignore_errors=True)
            cold.append(beside("index", folder))
            parsed.append(beside("parse", folder))
        for _ in range(3 * rounds):
            warm.append(beside("index", folder))
        try:
            peers.append(beside("rope", folder))
        except subprocess.CalledProcessError:
            print("rope is not installed here, or cannot index this; it is left out")
        print(f"{cold[0]['count']:,.0f} functions")
        changed, answered = changes(folder, 10 * rounds)
    rows = compared(cold, parsed, warm, peers)
    rows.append(row("one changed file", "ms of a processor", statistics.median(changed), 50))
    rows.append(row("three rules with filters after that", "ms of a processor", statistics.median(answered)))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(json.dumps({"benchmark": "esl", "machine": machine, "files": files, "rows": rows}))


def changes(folder: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of the processor for one changed file, and for three rules with filters that mean all files, after that."""
    index, _ = whole(folder)
    path = folder / "spec.esl"
    tops = sorted({file.module.partition(".")[0] for file in index.files if "." in file.module})
    top = max(tops, key=lambda name: sum(file.module.startswith(name + ".") for file in index.files))
    text = RULES.format(top)
    changed, answered = [], []
    for file in random.Random(2).sample(index.files, rounds):
        with open(file.path, "a", encoding="utf-8", errors="surrogateescape") as opened:
            opened.write(CHANGED)
        changed.append(1000 * timed(lambda: refreshed(index))[1])
        answered.append(1000 * timed(lambda: esl.check(path, folder, text=text, index=index))[1])
    return changed, answered


def row(
    name: str, unit: str, ours: float, asked: float | None = None, peer: tuple[str, float] | None = None
) -> dict[str, Any]:
    who, value = peer or ("", None)
    beside = f"; {who} {value:.3g}" if value is not None else ""
    print(f"{name}: {ours:.3g} {unit}{beside}" + (f" (asked: {asked:g})" if asked is not None else ""))
    return {
        "name": name, "unit": unit, "ours": round(ours, 4), "peer": who,
        "peer_value": None if value is None else round(value, 4), "asked": asked, "met": asked is None or ours <= asked,
    }  # fmt: skip


def middle(rounds: list[dict[str, float]], what: str) -> float:
    return statistics.median(each[what] for each in rounds)


def compared(cold: list[Any], parsed: list[Any], warm: list[Any], peers: list[Any]) -> list[dict[str, Any]]:
    """What was done by processes of their own."""
    used, unit = middle(cold, "used"), "s of a processor"
    ratio = statistics.median(ours["used"] / peer["used"] for ours, peer in zip(cold, parsed, strict=True))
    rows = [
        row("cold", "s", middle(cold, "clock"), 10, ("ast.parse by one process", middle(parsed, "clock"))),
        row("cold", unit, used, None, ("ast.parse", middle(parsed, "used"))),
        row("cold against ast.parse", "ratio", ratio),
        row("all functions from the disk", "s", middle(warm, "clock"), 1),
        row("all functions from the disk", unit, middle(warm, "used")),
    ]
    return rows + [
        row("cold, beside names of modules alone", unit, used, None, ("rope's autoimport", p["used"])) for p in peers
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000, help="of the workspace (default: 5,000)")
    parser.add_argument("--rounds", type=int, default=2, help="of each (default: 2)")
    parser.add_argument("--only", choices=("index", "parse", "rope"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        only(options.only, options.folder)
        return
    if options.files < 100 or options.rounds < 1:
        parser.error("give at least 100 files and 1 round")
    measure(options.files, options.rounds)


if __name__ == "__main__":
    main()
