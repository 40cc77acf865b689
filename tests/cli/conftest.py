"""Command lines as a shell runs them."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from clew.cli.main import call


class Done(NamedTuple):
    stdout: str
    stderr: str


class Shell:
    def __init__(self, folder):
        self.folder = folder
        self.env = {**os.environ, "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
        self.env.pop("NO_COLOR", None)

    def command(self, *arguments):
        return [sys.executable, "-m", "clew", *map(str, arguments)]

    def __call__(self, *arguments, code=0):
        """In this process, which is as real but for what a new interpreter costs."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            returned = call([str(argument) for argument in arguments])
        assert returned == code, (out.getvalue(), err.getvalue())
        return Done(out.getvalue(), err.getvalue())

    def process(self, *arguments, code=0):
        """As a shell runs it."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=120
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, (done.stdout, done.stderr)
        return Done(done.stdout, done.stderr)

    def start(self, *arguments, **more):
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    def interrupt(self, process):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        return process.returncode, out, err


@pytest.fixture
def shell(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return Shell(folder)


@pytest.fixture
def until():
    def wait(condition, seconds=20.0):
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < deadline, "did not happen"
            time.sleep(0.02)
        return found

    return wait


PROGRAM = Path(__file__).parent.parent / "server" / "shop"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A workspace with runs `before` and `after` of the small program that the server's tests record, too."""
    folder = tmp_path_factory.mktemp("shop") / "work"
    shutil.copytree(PROGRAM, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shell = Shell(folder)
    for name, slow in (("before", "0"), ("after", "3000000")):
        shell.env["SHOP_SLOW_NS"] = slow
        shell.process(
            "run", "--workspace", ".", "--spec", "shop.esl", "--name", name, "--", sys.executable, "-m", "shop.app"
        )
    return folder


@pytest.fixture
def shop(recorded):
    return Shell(recorded)
