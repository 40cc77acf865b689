"""Lint for English: find phrases that readers must read twice, in documents and in strings that users see.

    python tests/support/prose.py [FILE …]

Print `path:line: message` for each finding, and exit with 1 if there is one. It reads the documents, and of Python files the
docstrings of commands, `help=` texts, and the texts of exceptions.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_SHOWN = ("tests/", "benchmarks/", "examples/", ".typecheck/", "setup.py")
MOST_WORDS = 40

ANYWHERE = {
    r"\bwho(m|se)?ever\b": "'{}': name the person or the component",
    r"\b(is|are|was|were|be|been|being) (told|said)\b": "'{}': shows, prints, reports, lists",
    r"\b(tells?|told) of\b": "'{}': reports, describes",
    r"\bstands?\b(?! (for|out|by)\b|-)": "'{}': is, appears",
    r"\bas ever\b": "'{}': unchanged, as usual",
    r"\banew\b": "'{}': again, rebuilt",
    r"\bbeside\b": "'{}': next to, alongside, compared with",
    r"\bat hand\b": "'{}': cached, available",
    r"\b(goes|go|went|gone) on\b(?! (strike|by its))": "'{}': continues, runs; of a run: live",
    r"\b(at most|only|with) so (many|much)\b": "'{}': up to N",
    r"(?<!there )\b(is|are|was|were) no (?!longer\b|more\b|one\b)": "'{}': 'is not a', or a positive verb",
    r"\bthere (is|are|was|were) none\b": "'{}': 'is missing', 'is empty', or a positive verb",
    r"\b(nobody|nothing of)\b": "'{}': name the subject, with a positive verb",
    r"\btwins?\b": "'{}': reference implementation",
}
AT_START = {
    r"(What|Who|Whose|Whom)\b(?![^.!]*\?)": "a sentence begins with '{}': name its subject",
    r"(Of(?! (\d|these\b|those\b))|Beside|Behind)\b": "a sentence begins with '{}': put the subject first",
}


def findings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the message of each finding in a paragraph."""
    for pattern, message in ANYWHERE.items():
        for match in re.finditer(pattern, text, re.I):
            yield match.start(), message.format(match[0])
    for match in re.finditer(r"\S.*?(?:[.!?](?=[\s)*_]|$)|$)", text, re.S):
        sentence = match[0].lstrip("*_(>\"' ")
        for pattern, message in AT_START.items():
            if found := re.match(pattern, sentence):
                yield match.start(), message.format(found[0])
        if (words := len(re.findall(r"[\w'’-]*[A-Za-z][\w'’-]*", sentence))) > MOST_WORDS:
            yield match.start(), f"a sentence has {words} words: split it (at most {MOST_WORDS})"


def plain(line: str) -> str:
    """Replace what is not prose by as many other characters, so that offsets stay."""

    def same(match: re.Match[str]) -> str:
        return "x" * len(match[0])

    line = re.sub(r"`[^`]*`", same, line)
    line = re.sub(r"(?<!\*)\*{1,2}[^*.\n]{1,40}\*{1,2}(?!\*)", same, line)  # labels of the user interface
    line = re.sub(r"\]\([^)]*\)", lambda match: "]" + " " * (len(match[0]) - 1), line)
    return re.sub(r"<[^>]*>|https?://\S+", lambda match: " " * len(match[0]), line)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each paragraph, list item and table cell, without code and headings."""
    text = re.sub(r"^( *)```.*?^ *```$", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->|<picture>.*?</picture>", lambda match: "\n" * match[0].count("\n"), text, flags=re.S)
    first, lines = 1, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_item = re.match(r"\s*([-*]|\d+\.) ", line)
        if not line.strip() or line.startswith(("#", "|", "    ")) or is_item:
            if lines:
                yield first, plain("\n".join(lines))
            lines = []
        if line.startswith("|"):
            cells = re.sub("[;:]", ".", plain(line))  # a cell may be a list: each of its items is a sentence
            yield from ((number, cell.strip()) for cell in cells.split("|") if cell.strip())
        elif line.strip() and not line.startswith(("#", "    ")):
            first = first if lines else number
            lines.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line))


def strings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string of a Python file that users see."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and any("command" in ast.unparse(each) for each in node.decorator_list):
            for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                if not paragraph.startswith("\b"):  # click prints these as they are: examples
                    yield node.lineno, paragraph
        elif isinstance(node, ast.keyword) and node.arg in ("help", "short_help"):
            yield node.value.lineno, joined(node.value)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from ((argument.lineno, joined(argument)) for argument in node.exc.args)


def joined(node: ast.expr) -> str:
    """Return the constant parts of a string expression; a placeholder for the others."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(joined(part) if isinstance(part, ast.Constant) else "x" for part in node.values)
    if isinstance(node, ast.BinOp):
        return joined(node.left) + joined(node.right)
    return ""


def check(path: str) -> list[str]:
    """Return the findings of a file."""
    text = (ROOT / path).read_text("utf-8")
    texts = paragraphs(text) if path.endswith(".md") else strings(text)
    found = [(first + part.count("\n", 0, at), said) for first, part in texts for at, said in findings(part)]
    return [f"{path}:{line}: {said}" for line, said in sorted(set(found))]


def main() -> int:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    known = [path for path in tracked if path.endswith(".md")]
    known += [path for path in tracked if not path.startswith(NOT_SHOWN) and path.endswith(".py")]
    given = [str(Path(name).resolve().relative_to(ROOT)) for name in sys.argv[1:]]
    chosen = given or [path for path in known if (ROOT / path).exists()]
    found = [line for path in chosen for line in check(path)]
    print(*found, sep="\n" if found else "", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
