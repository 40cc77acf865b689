"""The query that a guide saves: a Python file of the workspace, to be read, changed and run again."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from pathlib import Path

from clew.records.errors import ClewError
from clew.records.run.directory import FOLDER
from clew.server.protocol.views.guide import WizardAnswer, WizardStep

QUERIES = "queries"
MARK = "# unchanged:"
"""Prefix of the last line, which holds the checksum of all lines before it."""
_IMPORTS = (
    ("Counter", "from collections import Counter"),
    ("np.", "import numpy as np"),
    ("clew.", "import clew"),
    ("compare(", "from clew.compare.requests.diff import compare"),
    ("localize(failing", "from clew.compare.localize.ranking import localize"),
)
"""Imports of a query, by the text that requires them, in sorted groups."""


def save(
    workspace: Path,
    name: str,
    *,
    title: str,
    asked: Sequence[WizardAnswer],
    preamble: str,
    steps: Sequence[WizardStep],
) -> Path:
    """Write the query and return its file. Raises `ClewError` if the file cannot be written."""
    text = _sealed(_text(title, asked, preamble, steps))
    folder = workspace / FOLDER / QUERIES
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = 1
        while True:
            path = folder / (f"{name}.py" if number == 1 else f"{name}-{number}.py")
            if not path.exists() or _is_unchanged(path.read_text(encoding="utf-8", errors="replace")):
                path.write_text(text, encoding="utf-8")
                return path
            number += 1
    except OSError as error:
        raise ClewError(f"{folder}: the query cannot be saved there ({error.strerror})") from None


def _text(title: str, asked: Sequence[WizardAnswer], preamble: str, steps: Sequence[WizardStep]) -> str:
    parts = [preamble]
    for step in steps:
        if step.code:
            parts.append(f"# {step.title}\n{step.code}")
    code = "\n\n".join(parts)
    imports = [line for letters, line in _IMPORTS if letters in code]
    standard = [line for line in imports if "collections" in line]
    others = [line for line in imports if "collections" not in line]
    answers = "\n".join(f"    {_one_line(answer.question)} {_one_line(answer.title)}" for answer in asked)
    head = (
        f'"""{title}, saved on {time.strftime("%Y-%m-%d %H:%M")}.\n\n{answers}\n\n'
        "Run it in the workspace's folder with a Python that has clew; edit it as you like.\n"
        '"""\n\n'
    )
    return head + "\n\n".join("\n".join(group) for group in (standard, others) if group) + "\n\n" + code + "\n"


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("\\", "/").replace('"', "'")


def _sealed(text: str) -> str:
    return f"{text}\n{MARK} {_checksum(text)}\n"


def _is_unchanged(text: str) -> bool:
    body, mark, checksum = text.rpartition(f"\n{MARK} ")
    return bool(mark) and checksum.strip() == _checksum(body)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
