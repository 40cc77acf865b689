"""Report the changes since a baseline at the end of a session: run `clew diff`, and print to the terminal, Markdown and
JUnit.

A comparison loads numpy and graphs, which a process under test must not do, so another process compares. Invariant: any
obstacle to a comparison becomes one line, and fails no test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from clew.instrument.testing.junit import annotate
from clew.records.fast_namedtuple import NamedTuple
from clew.records.run.directory import RunInfo

if TYPE_CHECKING:
    from clew.instrument.testing.session import Options

EMPTY: Mapping[str, Mapping[str, str]] = MappingProxyType({})
_FOUND = (0, 3)
"""Exit codes of `clew diff` with an answer: passed, and violated conditions."""


class Verdict(NamedTuple):
    lines: list[str]
    """Lines for the terminal."""
    failed: str = ""
    """The line with the reason why the session fails."""


def ask(root: Path, info: RunInfo, options: Options, properties: Mapping[str, Mapping[str, str]] = EMPTY) -> Verdict:
    """Compare a finished session; without a baseline, only the JUnit report is updated, with `properties` of tests."""
    about = {"clew_run": info.id} | ({"clew_commit": info.commit + "-dirty" * info.dirty} if info.commit else {})
    found: dict[str, Any] = {}
    lines: list[str] = []
    failed = ""
    if options.baseline:
        found, why = _compared(root, info, options)
        lines = found.get("report", []) or [f"not compared with {options.baseline}: {why}"]
        failed = found.get("failed", "")
        lines += [failed] if failed else []
        about |= {
            "clew_baseline": found.get("baseline", options.baseline),
            "clew_summary": found.get("sentence", lines[0]),
        }
    if options.report:
        tests: dict[str, dict[str, str]] = {test["name"]: dict(test["sentences"]) for test in found.get("tests", [])}
        for node, values in properties.items():
            tests[node] = {**tests.get(node, {}), **values}
        lines += annotate(options.report, about, tests)
    if options.summary and options.baseline:
        lines += _write(options.summary, found.get("markdown") or f"**clew**: {lines[0]}\n")
    return Verdict(lines, failed)


def _compared(root: Path, info: RunInfo, options: Options) -> tuple[dict[str, Any], str]:
    """Return the output of `clew diff`, or the reason for its failure."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "clew",
        "diff",
        f"{options.baseline}..{info.id}",
        "--workspace",
        str(root),
        "--json",
    ]
    if options.fail_on:
        command += ["--fail-on", options.fail_on]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode in _FOUND:
            answer: dict[str, Any] = json.loads(done.stdout)
            return answer, ""
    except (OSError, ValueError) as error:
        return {}, str(error)
    error_lines = done.stderr.strip().splitlines()
    return {}, error_lines[-1].removeprefix("clew: ").removeprefix(
        "error: "
    ) if error_lines else f"exit code {done.returncode}"


def _write(file: str, markdown: str) -> list[str]:
    """Write the summary and return errors. Steps of a job on GitHub append to one shared file."""
    mode = "a" if file == os.path.abspath(os.environ.get("GITHUB_STEP_SUMMARY") or os.devnull) else "w"
    try:
        with open(file, mode, encoding="utf-8") as stream:
            stream.write(markdown)
    except OSError as error:
        return [f"{file}: cannot write the summary ({error.strerror})"]
    return []
