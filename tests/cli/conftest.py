"""Fixtures: command lines as a shell runs them, and recorded runs."""

import shutil
import sys
import time
from pathlib import Path

import pytest

from tests.support.programs.recorded_program import record
from tests.support.shell import Shell

HEAD = """
import asyncio, logging, socket, sys, threading, time
logging.basicConfig(level="INFO")
log = logging.getLogger("app")
MENDED = len(sys.argv) > 1
"""
"""The beginning of the sources that `program` records."""


@pytest.fixture
def shell(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return Shell(folder)


@pytest.fixture
def until():
    def wait(condition, seconds=120.0):
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < deadline, "did not happen"
            time.sleep(0.02)
        return found

    return wait


PROGRAM = Path(__file__).parents[1] / "support" / "programs" / "shop"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Return a workspace with runs `before` and `after` of the small program that the server tests record."""
    folder = tmp_path_factory.mktemp("shop") / "work"
    shutil.copytree(PROGRAM, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shell = Shell(folder)
    for name, slow in (("before", "0"), ("after", "3000000")):
        shell.env["SHOP_SLOW_NS"] = slow
        shell.process(
            # On a busy machine, a budget could leave functions out.
            *("run", "--workspace", ".", "--spec", "shop.esl", "--budget", "none", "--name", name),
            *("--", sys.executable, "-m", "shop.app"),
        )
    return folder


@pytest.fixture
def shop(recorded):
    return Shell(recorded)


@pytest.fixture
def program(tmp_path):
    """`program(source)` records a source, which may log and ask whether it is `MENDED`, and returns its folder."""
    return lambda source, *arguments: record(tmp_path, HEAD + source, *arguments)
