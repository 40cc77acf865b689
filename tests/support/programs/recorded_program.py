"""Record a small program with the command line, and ask about it."""

import os
import subprocess
import sys
import textwrap
from functools import partial

from clew.graph.ops.answer.answer import answer
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.facts import Facts
from clew.graph.store.store import open_graph
from clew.records.format.event import Kind
from clew.server.text.answer import tell_edge
from tests.support.diagnoses.evidence import Evidence, unconfirmed


def record(folder, source, *arguments, codes=(0,), options=()):
    """Record a program in a folder as `app.py`, and return the folder. The program must end with one of some exit codes.

    `options` are further ones of `clew run`.
    """
    (folder / "app.py").write_text(textwrap.dedent(source))
    (folder / ".clew").mkdir(exist_ok=True)
    done = clew(folder, "run", "--quiet", "--budget", "none", *options, "--", sys.executable, "app.py", *arguments)
    assert done.returncode in codes, done.stderr
    return folder


def why(folder, text):
    """Return the verdict about a line, each of whose sentences its events confirm, and how sure it is."""
    newest, graph = _newest(folder)
    for row in graph.rows_of([Kind.LOG]).tolist():
        if text in graph.text(row):
            told = answer(graph, row, partial(tell_edge, graph))
            assert unconfirmed(Evidence(newest, graph), told.verdict) == []
    done = clew(folder, "why", text)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line]
    sure = next(number for number, line in enumerate(lines) if line.startswith("How sure"))
    return lines[sure - 1], lines[sure]


def found_in(folder):
    """Return what the diagnoses find in the newest run of a folder, each of whose sentences its events confirm."""
    newest, graph = _newest(folder)
    told, evidence = findings(Facts.of(graph)), Evidence(newest, graph)
    assert [what for finding in told for what in unconfirmed(evidence, finding.claims)] == []
    return told


def _newest(folder):
    newest = max((folder / ".clew" / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
    return newest, open_graph(newest)[0]


def clew(folder, *arguments):
    """Run a command of clew in a folder, without the settings of this session's recording."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    command = [sys.executable, "-m", "clew", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
