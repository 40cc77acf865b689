"""Documents are correct: the targets of links, the commands with their options, and the files of the code map exist."""

import re
import shlex
import subprocess
from pathlib import Path, PurePosixPath

import click
import pytest

from clew.cli.app import COMMANDS, clew

ROOT = Path(__file__).parents[2]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")[
    :-1
]
DOCUMENTS = sorted(
    path for path in TRACKED if path.endswith(".md") and path not in ("CHANGELOG.md", "esl/reference.md")
)


def anchors(path):
    """Return the anchors that GitHub makes of the headings."""
    lines = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S).splitlines()
    heads = [line.lstrip("#").strip() for line in lines if re.match("#+ ", line)]
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_links_have_existing_targets(document):
    path = ROOT / document
    dead = []
    for link in re.findall(r"\]\(([^()\s]+)\)", path.read_text()):
        name, _, anchor = link.partition("#")
        if re.match("[a-z]+:", name):
            continue
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def commands_in(text):
    """Yield the words of each clew command in the text, inside of a line or in a code block."""
    lines = re.findall(r"`(clew [^`]+)`", text)
    for block in re.findall(r"^ *```.*?\n(.*?)^ *```", text, flags=re.M | re.S):
        whole = block.replace("\\\n", " ")
        lines += [line.strip().removeprefix("$ ") for line in whole.splitlines()]
    for line in lines:
        line = re.split(r"\s#\s|\s\|\s|;|&&", line)[0]
        try:
            words = shlex.split(line)
        except ValueError:
            words = line.split()
        if words[:1] == ["clew"] and len(words) > 1 and re.fullmatch("[a-z]+", words[1]):
            yield words[1:]


def unknown(words):
    """Return the command or the options of a command line that do not exist."""
    if words[0] not in COMMANDS:
        return [words[0]]
    command = clew.get_command(click.Context(clew), words[0])
    if isinstance(command, click.Group) and len(words) > 1 and words[1] in command.commands:
        command, words = command.commands[words[1]], words[1:]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    own = words[: words.index("--")] if "--" in words else words
    return [word for word in own if word.startswith("--") and word.split("=")[0] not in known]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_commands_and_options_exist(document):
    shown = list(commands_in((ROOT / document).read_text()))
    assert [(" ".join(words), missing) for words in shown if (missing := unknown(words))] == []


def test_architecture_page_names_existing_files_and_folders():
    text = (ROOT / "docs/architecture.md").read_text()
    files = {PurePosixPath(path) for path in TRACKED}
    there = {str(path) for path in files} | {str(path.with_suffix("")) for path in files}
    there |= {str(folder) for path in files for folder in path.parents}
    named = {name.rstrip("/") for name in re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|h|c|ts|md))`", text)}
    assert len(named) > 50
    # A name is a path or the end of a path.
    assert {name for name in named if not any(path == name or path.endswith(f"/{name}") for path in there)} == set()
