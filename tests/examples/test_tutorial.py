"""The commands of docs/tutorial.md run as written and print the output that it shows.

`python tests/examples/test_tutorial.py` writes the current output into the tutorial.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs/tutorial.md"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
MARK = "-- next command --"
VIEW = """: > view.out; clew view >> view.out 2>&1 &
until grep -q Ctrl-C view.out || ! kill -0 $!; do sleep 0.1; done; kill $!; cat view.out"""
"""Start `clew view`, and stop it when it listens."""
MEASURED = ("clew diff", "pytest -q --clew --clew-baseline")
"""Commands whose output depends on times: the test compares only the lines about the added call."""


ADDED = "Stock.pay"


def documented() -> list[tuple[str, list[str]]]:
    """Return each command with the lines that the tutorial shows after it."""
    found: list[tuple[str, list[str]]] = []
    for block in CONSOLE.findall(TUTORIAL.read_text("utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def printed(home: Path) -> list[list[str]]:
    """Run the commands in one shell and return the lines of each."""
    script = f"echo '{MARK}'\n".join(f"{VIEW if words == 'clew view' else words}\n" for words, _ in documented())
    names = {
        f"GIT_{role}_{part}": "reader@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW", "PYTEST", "GIT_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = kept | names | {"HOME": str(home), "PATH": path, "BROWSER": "true", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    parts = done.stdout.split(f"{MARK}\n")
    return [part.replace(str(home), "~").strip("\n").splitlines() for part in parts]


def shape(lines: list[str]) -> list[str]:
    """Replace what differs between two runs: numbers with their units, addresses, columns, places that depend on timing."""
    text = "\n".join(line for line in lines if line.strip() and not line.startswith("clew: waiting"))
    text = re.sub(r"token=\S+", "token=…", text)
    text = re.sub(r"\d[\d,.:-]*(e-\d+)?( ?(ns|µs|ms|s|KB|MB|%|x)\b| ?%)?", "#", text)
    text = re.sub(r"\(\+# other causes?\)", "", text)
    # A step within a millisecond has no time.
    text = re.sub(r", # earlier$", "", text, flags=re.M)
    return [" ".join(line.split()) for line in text.splitlines()]


def before(line: str) -> str:
    """Return the words that lead to the added call."""
    return shape([line.partition(ADDED)[0]])[0][-30:]


def test_tutorial_commands_print_the_shown_output(tmp_path: Path) -> None:
    found = printed(tmp_path)
    shown = documented()
    assert len(found) == len(shown) > 12
    for (words, wanted), lines in zip(shown, found, strict=True):
        if words.startswith(MEASURED):
            added = [before(line) for line in wanted if ADDED in line]
            assert added and all(text in {before(line) for line in lines if ADDED in line} for text in added), (
                words,
                lines,
            )
        else:
            assert shape(lines) == shape(wanted), words


def test_tutorial_spec_equals_that_of_the_example() -> None:
    (text,) = re.findall(r"^```esl\n(.*?)^```$", TUTORIAL.read_text("utf-8"), re.M | re.S)
    assert text == (ROOT / "examples/bookshop/bookshop.esl").read_text("utf-8")


def update() -> None:
    """Write what the commands print now into the tutorial."""
    with tempfile.TemporaryDirectory() as home:
        answers = iter(printed(Path(home)))

    def block(match: re.Match[str]) -> str:
        commands = [line for line in match[1].splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join("\n".join([line, *next(answers)]) + "\n" for line in commands) + "```"

    TUTORIAL.write_text(CONSOLE.sub(block, TUTORIAL.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    update()
