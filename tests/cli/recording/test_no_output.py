"""Lines on stdout and stderr are left out of a recording on request: `--no-output`, and `output none;` in a spec."""

import json
import os
import subprocess
import sys

import pytest

from clew.query.api import open_run
from clew.records.format.event import Kind

PROGRAM = "import sys, logging\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\nlogging.warning('logged')\n"
SERVER = """
import sys, time
print("ready", flush=True)
for line in sys.stdin:
    print("got", line.strip(), flush=True)
"""


def texts(run, kind):
    graph = open_run(run).graph
    return [graph.text(row) for row in graph.rows_of([kind]).tolist()]


@pytest.mark.parametrize(
    ("options", "spec", "expected"),
    [
        ((), "", ["to stdout", "to stderr"]),
        (("--no-output",), "", []),
        ((), "include standard; logs; output none;", []),
        (("--no-output",), "include standard; logs;", []),
        ((), "include standard; logs;", ["to stdout", "to stderr"]),
    ],
)
def test_run_records_output_lines_unless_told_not_to(shell, options, spec, expected):
    (shell.folder / "app.py").write_text(PROGRAM)
    if spec:
        (shell.folder / "app.esl").write_text(spec)
        options = (*options, "--spec", "app.esl")
    done = shell.process("run", "--workspace", ".", *options, "--", sys.executable, "app.py")
    assert (done.stdout, "to stderr" in done.stderr) == ("to stdout\n", True)
    (run,) = (shell.folder / ".clew" / "runs").iterdir()
    assert texts(run, Kind.OUTPUT) == expected
    assert texts(run, Kind.LOG) == ["logged"]


@pytest.mark.parametrize("options", [(), ("--no-output",)])
def test_attach_records_output_lines_unless_told_not_to(shell, options, until):
    (shell.folder / "server.py").write_text(SERVER)
    added = shell.process("attach", "--env", "--json").stdout
    server = subprocess.Popen(
        [sys.executable, "server.py"], cwd=shell.folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, **shell.env, **json.loads(added)},
    )  # fmt: skip
    try:
        assert server.stdout.readline() == "ready\n"
        shell.process("attach", "--workspace", ".", *options, str(server.pid))
        server.stdin.write("line\n")
        server.stdin.flush()
        assert server.stdout.readline() == "got line\n"
        shell.process("detach", str(server.pid))
    finally:
        server.stdin.close()
        server.wait(60)
        server.stdout.close()
    (run,) = (shell.folder / ".clew" / "runs").iterdir()
    assert texts(run, Kind.OUTPUT) == ([] if options else ["got line"])
