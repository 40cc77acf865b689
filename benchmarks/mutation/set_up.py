"""Fetch the packages into `.cache/mutants`, and run their tests in copies, each with one mutant."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation.packages import Package

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "mutants"
PLUGIN = Path(__file__).parent / "plugin"
LONGEST_S = 120
"""A mutant may loop forever."""

Place = tuple[str, str]
"""A file, relative to the package, and the qualified name of a function."""


@dataclass(frozen=True)
class Session:
    """What the tests of one session did."""

    outcomes: dict[str, str]
    """The outcome of each test, in order: "passed", "failed" in its call phase, "skipped", or "error" in another phase."""
    raised: dict[str, list[Place]]
    """The functions of the package in the traceback of each failed test, innermost first."""
    errors: dict[str, str] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    """The tests that ran each line of each file of the package, by coverage.py."""
    calls: list[Place] = field(default_factory=list)

    @property
    def failed(self) -> list[str]:
        return [test for test, outcome in self.outcomes.items() if outcome == "failed"]


@dataclass(frozen=True)
class Checkout:
    """A copy of a package's distribution that may be changed."""

    package: Package
    folder: Path
    needs: Path

    @property
    def code(self) -> Path:
        return self.folder / self.package.code

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTEST_"))}
        path = (str(self.folder / self.package.source), str(self.needs), str(PLUGIN))
        return {
            **kept, "PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
        }  # fmt: skip

    def pytest(self, *words: str) -> list[str]:
        plugins = ("no:cacheprovider", "no:xdist", "no:asyncio", "no:randomly")
        options = [option for plugin in plugins for option in ("-p", plugin)]
        return [sys.executable, "-m", "pytest", "-q", *options, "--rootdir=.", "-o", "addopts=", *words]

    def run(self, *words: str, measure: str = "", timeout: float = LONGEST_S) -> Session | None:
        """Run tests; None if they did not end in time, or if pytest could not begin."""
        with tempfile.TemporaryDirectory(prefix="clew-mutants-", ignore_cleanup_errors=True) as folder:
            report = Path(folder, "report.json")
            environment = self.environment() | {
                "MUTANT_REPORT": str(report), "MUTANT_CODE": str(self.code), "MUTANT_MEASURE": measure,
            }  # fmt: skip
            command = self.pytest("-p", "mutant_outcomes", "--tb=no", *words)
            if ended(command, self.folder, environment, timeout) is None or not report.exists():
                return None
            return _session(json.loads(report.read_text(encoding="utf-8")))


def ended(command: list[str], folder: Path, environment: dict[str, str], timeout: float) -> str | None:
    """Return what a command printed; None if it did not end in time. Its process group is killed then."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return output.read().decode(errors="replace")


def _session(found: dict[str, Any]) -> Session:
    tests = found["tests"]
    return Session(
        {
            test: "error" if one["outcome"] == "failed" and one["when"] != "call" else one["outcome"]
            for test, one in tests.items()
        },
        {
            test: [(file, name) for file, name in one["raised"]]
            for test, one in tests.items()
            if one["outcome"] == "failed"
        },
        {test: one["error"] for test, one in tests.items() if one["outcome"] == "failed"},
        {file: {int(line): ran for line, ran in lines.items()} for file, lines in found["lines"].items()},
        [(file, name) for file, name in found["calls"]],
    )


def fetched(package: Package, cache: Path = CACHE) -> tuple[Path, Path]:
    """Return the folders of a package's distribution and of what its tests need. They are downloaded at the first call.

    Raise `OSError` if they cannot be downloaded, or if the distribution is another one than the pinned one.
    """
    folder = cache / f"{package.name}-{package.version}"
    needs = folder / "needs"
    done = folder / ".done"
    if not done.exists():
        print(f"  fetching {package.name} {package.version}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pinned = f"{package.name}=={package.version}"
        _pip("download", "-d", str(folder), "--no-binary", ":all:", "--no-deps", pinned)
        (archive,) = folder.glob("*.tar.gz")
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != package.sha256:
            raise OSError(f"{archive.name} has the SHA-256 {found}, not {package.sha256}")
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
        if package.needs:
            _pip("install", "--target", str(needs), *package.needs)
        done.touch()
    (source,) = (one for one in folder.iterdir() if one.is_dir() and one != needs)
    return source, needs


def _pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise OSError(f"pip {words[0]} failed: {result.stderr.strip().splitlines()[-1:]}")


def checkout(package: Package, folder: Path, cache: Path = CACHE) -> Checkout:
    """Copy a package into a new folder."""
    source, needs = fetched(package, cache)
    shutil.copytree(source, folder)
    return Checkout(package, folder.resolve(), needs)
