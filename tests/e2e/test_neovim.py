"""The language server in an editor that knows nothing of clew: Neovim, as Debian has it, without a plugin."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("neovim.lua")


@pytest.fixture(scope="module")
def seen(recorded, tmp_path_factory):
    neovim = shutil.which("nvim")
    if neovim is None:
        pytest.skip("THE TESTS IN NEOVIM DID NOT RUN: nvim is not on PATH; run tests/e2e/install.sh")
    out = tmp_path_factory.mktemp("neovim") / "seen.json"
    environment = os.environ | {
        "CLEW_TEST_WORKSPACE": str(recorded.folder),
        "CLEW_TEST_PYTHON": sys.executable,
        "CLEW_TEST_FUNCTION_LINE": str(recorded.line_of("chunkstore/index.py", "def lookup")),
        "CLEW_TEST_LOG": recorded.log_path,
        "CLEW_TEST_LOG_LINE": str(recorded.log_line),
        "CLEW_TEST_ERROR": "Write request failed",
        "CLEW_TEST_OUT": str(out),
        "XDG_STATE_HOME": str(out.parent),
    }
    done = subprocess.run(
        [neovim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {SCRIPT}"],
        cwd=recorded.folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found = json.loads(out.read_text())
    assert "problem" not in found, (found["problem"], done.stderr)
    return found


def test_functions_have_lenses(seen, recorded):
    line = recorded.line_of("chunkstore/index.py", "def lookup")
    titles = [lens["title"] for lens in seen["lenses"] if lens["line"] == line]
    assert any(re.search(r"\d calls?", title) for title in titles), seen["lenses"]


def test_a_hover_tells_of_the_function(seen):
    assert "lookup" in "\n".join(seen["hover"]) and "calls" in "\n".join(seen["hover"])


def test_the_definition_of_a_log_line_is_the_call_that_wrote_it(seen, recorded):
    assert seen["definition"]["file"].endswith("chunkstore/server.py")
    assert seen["definition"]["line"] == recorded.logging_line


def test_a_walk_goes_from_an_error_to_its_cause_and_back(seen):
    start, cause, back = seen["walk"]
    assert "Write request failed" in start
    assert cause.startswith("cause: ") and " earlier" in cause
    assert "Write request failed" in back
