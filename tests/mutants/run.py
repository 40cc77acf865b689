"""Change the product in random places, one at a time, and count the changes that the quick tests notice.

    python tests/mutants/run.py [--count 200] [--seed N] [--json FILE]

A mutant replaces one operator or constant in the body of a function. For each, only the tests in the folder of the changed
module run, so the result is a lower bound. The script changes files of the checkout and restores them: use a clone. It exits
with 0 whatever the tests find.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("api", "records", "source", "instrument", "esl", "graph", "compare", "query", "server", "cli")
SECONDS = 300
"""A mutant that runs longer is noticed: it hangs."""

COMPARISONS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "in": "not in", "is": "is not"}
COMPARISON_OF = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.Is: "is",
}
ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*")}
LOGIC = {ast.And: ("and", "or"), ast.Or: ("or", "and")}


@dataclass(frozen=True)
class Mutant:
    """One replacement: the text from `start` to `end` (offsets in the file) becomes `new`."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str
    context: str
    """The whole line before the change, without indentation."""


class Places(ast.NodeVisitor):
    """Collects the mutants of a module: those in bodies of functions, without annotations and defaults."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.text = text
        self.found: list[Mutant] = []
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.depth += 1
        for statement in node.body:
            self.visit(statement)
        self.depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            if old := COMPARISON_OF.get(type(operator)):
                self.between(left, right, old, COMPARISONS[old])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if pair := ARITHMETIC.get(type(node.op)):
            self.between(node.left, node.right, *pair)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, *LOGIC[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start = self.offset(node.lineno, node.col_offset)
            self.add(node.lineno, start, start + 4, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        start = self.offset(node.lineno, node.col_offset)
        if isinstance(node.value, bool):
            self.add(node.lineno, start, start + len(str(node.value)), str(not node.value))
        elif isinstance(node.value, int):
            end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
            self.add(node.lineno, start, end, str(node.value + 1))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip it: before Python 3.12 the places of its parts are wrong."""

    def visit_Continue(self, node: ast.Continue) -> None:
        start = self.offset(node.lineno, node.col_offset)
        self.add(node.lineno, start, start + len("continue"), "break")

    def offset(self, line: int, column: int) -> int:
        """Turn a line and a column in bytes into an offset in characters."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        start = self.offset(left.end_lineno or left.lineno, left.end_col_offset or 0)
        end = self.offset(right.lineno, right.col_offset)
        if (at := self.text.find(old, start, end)) >= 0:
            self.add(left.end_lineno or left.lineno, at, at + len(old), new)

    def add(self, line: int, start: int, end: int, new: str) -> None:
        if self.depth:
            context = self.lines[line - 1].strip()
            self.found.append(Mutant(self.path, line, start, end, self.text[start:end], new, context))


def mutants() -> Iterator[Mutant]:
    """Yield every mutant of the product."""
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            places = Places(str(path.relative_to(ROOT)), text := path.read_text("utf-8"))
            places.visit(ast.parse(text))
            yield from places.found


def tests_of(path: str) -> str:
    """Return the folder of tests that mirrors the folder of a module, or the nearest one above it."""
    folder = Path("tests", path).parent
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    return str(folder)


def noticed(mutant: Mutant, folder: str) -> str:
    """Run a folder of tests on the changed product. Return the reason why the change is noticed, or an empty string."""
    path = ROOT / mutant.path
    original = path.read_text("utf-8")
    path.write_text(original[: mutant.start] + mutant.new + original[mutant.end :], "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n0",
        "-m",
        "not e2e and not slow",
        "-p",
        "no:cacheprovider",
    ]
    process = subprocess.Popen(
        [*command, folder],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        signal_group(process.pid)
        return "it hangs"
    finally:
        path.write_text(original, "utf-8")
        signal_group(process.pid)
    if process.returncode == 0:
        return ""
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0][:200] if failed else f"pytest exits with {process.returncode}"


def signal_group(group: int) -> None:
    """Kill the processes that a run of the tests left behind."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="how many mutants (200)")
    parser.add_argument("--seed", type=int, default=None, help="the seed of the choice; a random one is printed")
    parser.add_argument("--json", type=Path, help="write each mutant and its result to this file")
    options = parser.parse_args()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    every = list(mutants())
    chosen = random.Random(seed).sample(every, min(options.count, len(every)))
    print(f"seed {seed}: {len(chosen)} of {len(every)} mutants", flush=True)
    results, begin = [], time.monotonic()
    for number, mutant in enumerate(chosen, 1):
        reason = noticed(mutant, tests_of(mutant.path))
        results.append({**asdict(mutant), "noticed": reason})
        state = reason or "not noticed"
        print(f"{number} {mutant.path}:{mutant.line} {mutant.old!r} -> {mutant.new!r}: {state}", flush=True)
        if options.json:
            options.json.write_text(json.dumps({"seed": seed, "results": results}, indent=1), "utf-8")
    killed = sum(bool(result["noticed"]) for result in results)
    print(f"{killed} of {len(results)} noticed, {(time.monotonic() - begin) / 60:.0f} min")


if __name__ == "__main__":
    main()
