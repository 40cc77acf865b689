"""Measures the editor's answers about a spec of 2,000 lines in a workspace of 5,000 files: diagnostics, completion, hover.

    python benchmarks/esl_editor.py [--rounds 40] [--files 5000] [--lines 2000] [--folder FOLDER]

Each round types a comment at another line, then asks. The bar is 50 ms of a processor for 95 of 100 answers. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthetic.esl import FILES, RULES, make_spec, make_workspace

from clew.server.lsp.features.esl import hover
from clew.server.lsp.features.esl.spec_text import SpecText
from clew.server.session.session import Session, Task
from clew.server.session.specs import Specs

BAR_MS = 50.0


def row(name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    at_95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))] * 1e3
    found = {"row": name, "median_ms": round(statistics.median(seconds) * 1e3, 1), "p95_ms": round(at_95, 1)}
    print(json.dumps({**found, "bar_ms": BAR_MS, "rounds": len(seconds)}), flush=True)


def taken(work: Callable[[], Any]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def measure(folder: Path, rounds: int, lines: int) -> None:
    text, chance = make_spec(folder, lines), random.Random(1)
    path = folder / "all.esl"
    path.write_text(text)
    session = Session(folder)
    specs = Specs(lambda: session, list)
    print(
        json.dumps({"row": "first check", "ms": round(taken(lambda: specs.check(str(path), text)) * 1e3)}), flush=True
    )
    checks, completions, hovers = [], [], []
    for number in range(rounds):
        rows = text.splitlines()
        line = chance.randrange(len(rows))
        typed = "\n".join([*rows[:line], f"{rows[line]} // {number}", *rows[line + 1 :]]) + "\n"
        checks.append(taken(lambda typed=typed: specs.check(str(path), typed)))
        begun = typed + chance.choice(rows).rpartition(".")[0].rpartition(" when ")[0]
        completions.append(taken(lambda begun=begun: specs.complete(str(path), begun, len(begun))))
        spec = SpecText(path.as_uri(), typed)
        offset = typed.index(":", chance.randrange(len(typed) // 2))
        hovers.append(taken(lambda spec=spec, offset=offset: hover.hover(specs, spec, offset, Task())))
    for name, seconds in (("diagnostics", checks), ("completion", completions), ("hover", hovers)):
        row(name, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--lines", type=int, default=RULES)
    parser.add_argument("--folder", type=Path, help="keep the workspace here, and use it again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        if not (folder / ".clew").is_dir():
            make_workspace(folder, given.files)
        measure(folder, given.rounds, given.lines)


if __name__ == "__main__":
    main()
