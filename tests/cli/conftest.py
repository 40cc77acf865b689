"""Command lines as a shell runs them."""

import os
import signal
import subprocess
import sys
import time

import pytest


class Shell:
    def __init__(self, folder):
        self.folder = folder
        self.env = {**os.environ, "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
        self.env.pop("NO_COLOR", None)

    def command(self, *arguments):
        return [sys.executable, "-m", "clew", *map(str, arguments)]

    def __call__(self, *arguments, code=0):
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=60
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

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
