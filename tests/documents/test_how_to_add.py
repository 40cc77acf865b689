"""The table *How to add* of docs/architecture.md names the files that its examples are in, and no others."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAD = "| to add | write | and register it in | example |"
FOLDERS = (
    "records",
    "source",
    "instrument",
    "esl",
    "graph",
    "query",
    "server",
    "cli",
    "vscode-client/src",
    "vscode-client/syntaxes",
)
LIMITED = {
    "a panel view": ("server/protocol", "server/views"),
    "its drawing": ("vscode-client/src",),
    "an edge kind": ("records", "graph/build", "graph/model", "graph/ops/causes", "server/text"),
    "an ESL statement": ("esl", "records", "vscode-client/syntaxes"),
    "a Python version": ("instrument/probes/bytecode",),
}
"""The folders to search for an example whose word also has other uses."""


def rows() -> dict[str, tuple[set[str], str]]:
    """Return the files of each row and the pattern of its example."""
    lines = (ROOT / "docs/architecture.md").read_text("utf-8").splitlines()
    begin = lines.index(HEAD) + 2
    found = {}
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        name, written, registered, example = (cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|")))
        files = re.findall(r"`([\w./-]+/[\w.-]*)`", f"{written} {registered}")
        found[name] = set(files), example.strip("`").replace(r"\|", "|")
    return found


def mentions(pattern: str, folders: tuple[str, ...]) -> set[str]:
    """Return the tracked files below these folders that match, without generated files."""
    command = ["git", "grep", "-lP", pattern, "--", *folders, ":!vscode-client/src/shared/protocol.ts"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("name", rows())
def test_how_to_add_row_names_the_files_of_its_example(name: str) -> None:
    files, pattern = rows()[name]
    there = mentions(pattern, LIMITED.get(name, FOLDERS))
    named = {file for file in files if not file.endswith("/") and (ROOT / file).is_file()}
    folders = {file for file in files if file.endswith("/")}
    assert {file for file in files if not (ROOT / file).exists()} == set()
    unnamed = {file for file in there if file not in named and not any(file.startswith(folder) for folder in folders)}
    assert unnamed == set()
    searched = {file for file in named if file.startswith(LIMITED.get(name, FOLDERS))}
    assert searched - there == set()


def test_how_to_add_has_a_row_for_each_kind_of_extension() -> None:
    assert set(rows()) >= {
        "an edge kind", "a channel", "an import format", "a panel view", "an ESL statement", "a query operator",
        "a Python version",
    }  # fmt: skip
