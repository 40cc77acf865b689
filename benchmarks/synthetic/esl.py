"""A workspace of many real files and a long spec about them, for `benchmarks/esl.py`."""

from __future__ import annotations

import random
import shutil
import sysconfig
from pathlib import Path

FILES = 5_000
RULES = 2_000


def make_workspace(folder: Path, files: int = FILES) -> Path:
    """The first `files` Python files of the installed packages, in their packages."""
    source = Path(sysconfig.get_paths()["purelib"])
    done = 0
    for path in sorted(source.rglob("*.py")):
        if done == files:
            break
        if path.stat().st_size < 200_000 and all(part.isidentifier() for part in path.relative_to(source).parts[:-1]):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            done += 1
    (folder / ".clew" / "runs").mkdir(parents=True, exist_ok=True)
    return folder


def make_spec(folder: Path, rules: int = RULES) -> str:
    """A statement a line, about functions that are there; of all kinds, the same ones each time."""
    from clew.esl import SourceIndex

    chance = random.Random(7)
    index = SourceIndex(folder)
    known = [f for file in chance.sample(index.files, 400) for f in index.functions(file) if "<" not in f.qualname]
    lines = ["include standard;"]
    while len(lines) < rules:
        function = chance.choice(known)
        names = [name for name in function.parameters if name != function.this] or ["this"]
        key, number = names[0], len(lines)
        lines.append(
            chance.choice(
                [
                    f"scope {function.module}.** except {function.module}:*.__repr__;",
                    f"scope {function.label};",
                    f"payload {function.label} value {key} as value{number} limit 80;",
                    f"send {function.label} key {key} as channel{number};",
                    f"receive {function.label} key ({key}, 1) as channel{number - 1} when {key} is not None;",
                    f"// line {number} says why",
                ]
            )
        )
    return "\n".join(lines) + "\n"
