"""Lines of an imported trace are placed in a file only if its age or git shows that this file ran."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest

from clew.graph.formats.import_run import import_run
from clew.server.locations.line_mapping import places
from clew.server.session.session import Session

TEXT = "def handle():\n    read()\n    return 1\n"
SECOND = 1_000_000_000


@pytest.fixture
def module(tmp_path):
    file = tmp_path / "shop.py"
    file.write_text(TEXT)
    return file


def imported(tmp_path, file, began, line=2):
    """Import a run of one span at a line of a file, in OpenTelemetry's JSON."""
    attributes = [
        {"key": "code.filepath", "value": {"stringValue": str(file)}},
        {"key": "code.lineno", "value": {"intValue": str(line)}},
    ]
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "handle", "kind": 2, "attributes": attributes,
            "startTimeUnixNano": str(began), "endTimeUnixNano": str(began + SECOND)}  # fmt: skip
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    spans = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(spans))
    return import_run(tmp_path, [trace]).folder


def placed(tmp_path, folder, file, line=2):
    session = Session(tmp_path)
    found = places(session, folder, str(file)).line(line)
    return (*found, places(session, folder, str(file)).sentence(found.state))


def git(folder, *words, when=None):
    stamp = {"GIT_COMMITTER_DATE": f"{when} +0000", "GIT_AUTHOR_DATE": f"{when} +0000"} if when else {}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, env=os.environ | stamp)


def test_imported_line_of_file_older_than_the_trace_is_exact(tmp_path, module):
    folder = imported(tmp_path, module, time.time_ns() + 3600 * SECOND)
    assert placed(tmp_path, folder, module) == (2, "exact", "")
    module.write_text("import os\n\n" + TEXT)
    assert placed(tmp_path, folder, module) == (4, "moved", "")
    module.write_text("import os\n")
    assert placed(tmp_path, folder, module)[1] == "stale"


def test_imported_line_of_file_changed_after_the_trace_is_stale(tmp_path, module):
    folder = imported(tmp_path, module, time.time_ns() - 3600 * SECOND)
    line, state, why = placed(tmp_path, folder, module)
    assert (line, state) == (2, "stale") and "changed after the trace began" in why


def test_imported_line_of_file_unchanged_in_git_is_exact(tmp_path, module):
    began = time.time_ns() - 3600 * SECOND
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "shop.py")
    git(tmp_path, "commit", "-qm", "one", when=began // SECOND - 100)
    folder = imported(tmp_path, module, began)
    assert placed(tmp_path, folder, module) == (2, "exact", "")


@pytest.mark.parametrize("change", ["edited", "committed later", "an older version", "ignored"])
def test_imported_line_of_file_changed_in_git_is_stale(tmp_path, module, change):
    began = time.time_ns() - 3600 * SECOND
    git(tmp_path, "init", "-q")
    if change == "ignored":
        (tmp_path / ".gitignore").write_text("shop.py\n")
    else:
        git(tmp_path, "add", "shop.py")
        git(tmp_path, "commit", "-qm", "one", when=began // SECOND + (100 if change == "committed later" else -900))
    if change == "an older version":
        module.write_text(TEXT + "\n# later\n")
        git(tmp_path, "commit", "-qam", "two", when=began // SECOND - 100)
        git(tmp_path, "branch", "later")
        git(tmp_path, "reset", "-q", "--hard", "HEAD~1")
    if change == "edited":
        module.write_text("\n" + TEXT)
    assert placed(tmp_path, imported(tmp_path, module, began), module)[1] == "stale"


def test_imported_line_beyond_the_end_of_file_is_stale(tmp_path, module):
    folder = imported(tmp_path, module, time.time_ns() + 3600 * SECOND, line=40)
    _, state, why = placed(tmp_path, folder, module, 40)
    assert state == "stale" and "line 40" in why


def test_imported_line_of_missing_file_is_stale(tmp_path):
    folder = imported(tmp_path, tmp_path / "elsewhere.py", time.time_ns())
    assert placed(tmp_path, folder, tmp_path / "elsewhere.py")[1] == "stale"
