"""Runs the test suites of packages from PyPI twice, plain and under `pytest --clew`, and says where the outcomes differ.

    python tests/packages/run.py            all of them
    python tests/packages/run.py click attrs

Every function of the package and of its tests is recorded, without a budget. A package's source distribution is fetched once,
into .cache/packages. Exit code 1: a test has another outcome than without, or nothing was recorded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clew.graph.build.decode_records import decode
from clew.records.format.event import Kind
from clew.records.plan.default_plan import default_plan
from clew.records.plan.plan import dump
from clew.records.read.reader import read_run
from clew.records.run.directory import list_runs

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "packages"


class Package(NamedTuple):
    version: str
    source: str
    """The folder of the distribution that Python imports from."""
    tests: str
    needs: tuple[str, ...] = ()
    """What its tests import, from PyPI."""


PACKAGES = {
    "click": Package("8.5.1", "src", "tests"),
    "jinja2": Package("3.1.6", "src", "tests", ("markupsafe", "trio")),
    "attrs": Package("26.1.0", "src", "tests", ("hypothesis",)),
    "more-itertools": Package("11.2.1", ".", "tests"),
    "pyflakes": Package("4.1.0", ".", "pyflakes/test"),
}


def fetched(name: str) -> tuple[Path, Path]:
    """The folders of a package's source and of what its tests need; fetched if they are not there."""
    package = PACKAGES[name]
    folder = CACHE / f"{name}-{package.version}"
    needs = folder / "needs"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
        wanted = ["--no-binary", ":all:", "--no-deps", f"{name}=={package.version}"]
        subprocess.run([*pip, "download", "-d", str(folder), *wanted], check=True)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as file:
                file.extractall(folder, filter="data")
        if package.needs:
            subprocess.run([*pip, "install", "--target", str(needs), *package.needs], check=True)
        (folder / "done").touch()
    (source,) = (found for found in folder.iterdir() if found.is_dir() and found != needs)
    return source, needs


def outcomes(name: str, source: Path, needs: Path, words: list[str]) -> tuple[dict[str, str], str]:
    """Of each test, and what pytest printed."""
    package = PACKAGES[name]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                package.tests,
                "-q",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
                "-p",
                "no:asyncio",
            ]
            + [f"--junit-xml={report}", "--rootdir=.", "-o", "timeout=300", *words],
            cwd=source,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(source / package.source), str(needs)))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout + done.stderr
        if not report.exists():
            return {}, printed
        return {_identity(case): _outcome(case) for case in ElementTree.parse(report).iter("testcase")}, printed


def _identity(case: ElementTree.Element) -> str:
    return f"{case.get('classname')}.{case.get('name')}"


def _outcome(case: ElementTree.Element) -> str:
    return next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")


def compared(name: str) -> bool:
    """Prints what a package's tests do; false when something differs or nothing was recorded."""
    source, needs = fetched(name)
    plan = default_plan(source)._replace(budget=None)
    plan_file = source.parent / "all.plan"
    plan_file.write_text(dump(plan), encoding="utf-8")
    begin = time.monotonic()
    plain, said = outcomes(name, source, needs, [])
    middle = time.monotonic()
    recorded, said_recorded = outcomes(name, source, needs, ["--clew", f"--clew-plan={plan_file}"])
    end = time.monotonic()
    different = {
        test: (plain.get(test, "not run"), recorded.get(test, "not run"))
        for test in sorted({*plain, *recorded})
        if plain.get(test) != recorded.get(test)
    }
    passed = sum(outcome == "passed" for outcome in plain.values())
    functions, calls, processes = _counted(source)
    print(
        f"{name} {PACKAGES[name].version}: {len(plain)} tests, {passed} pass without clew, {len(different)} differ "
        f"({functions} functions, {calls} calls in {processes} processes; "
        f"{middle - begin:.1f} s, recorded {end - middle:.1f} s)",
        flush=True,
    )
    for test, (was, now) in different.items():
        print(f"FAILED {test}: {was} without clew, {now} recorded")
    if different or not passed:
        print(said if not passed else said_recorded)
    return bool(passed and calls) and not different


def _counted(source: Path) -> tuple[int, int, int]:
    """Functions called, calls and processes of the newest run, which is removed."""
    folder, _ = list_runs(source)[0]
    functions: set[tuple[str, str]] = set()
    calls = processes = 0
    for process in read_run(folder).processes:
        processes += 1
        names = {site.id: (site.module, site.qualname) for site in process.sites.values()}
        for thread in process.threads.values():
            columns = decode(thread.extents)
            begun = columns.site[columns.kind == Kind.ENTER]
            calls += len(begun)
            functions.update(names[site] for site in np.unique(begun).tolist())
    shutil.rmtree(folder)
    return len(functions), calls, processes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", choices=[[], *PACKAGES], help="default: all")
    options = parser.parse_args()
    results = [compared(name) for name in options.packages or PACKAGES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
