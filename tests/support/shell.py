"""Command lines, as a shell runs them."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from typing import NamedTuple

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
        """Run a command in this process, which saves the start of an interpreter."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            returned = call([str(argument) for argument in arguments])
        assert returned == code, (out.getvalue(), err.getvalue())
        return Done(out.getvalue(), err.getvalue())

    def process(self, *arguments, code=0):
        """Run a command in another process, as a shell does."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300
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
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err
