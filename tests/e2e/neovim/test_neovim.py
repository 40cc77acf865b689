"""The language server in an editor without a clew extension: Debian's Neovim without a plugin."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def steps_in_neovim(name: str, workspace: Path, out: Path, **told: str) -> dict[str, Any]:
    """Run a script in Neovim and return what it saw."""
    neovim = shutil.which("nvim")
    if neovim is None:
        pytest.skip("THE TESTS IN NEOVIM DID NOT RUN: nvim is not on PATH; run tests/e2e/install.sh")
    environment = os.environ | {
        "CLEW_TEST_EDITOR": str(HERE / "neovim.lua"),
        "CLEW_TEST_WORKSPACE": str(workspace),
        "CLEW_TEST_PYTHON": sys.executable,
        "CLEW_TEST_OUT": str(out),
        "XDG_STATE_HOME": str(out.parent),
    }
    done = subprocess.run(
        [neovim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {HERE / name}"],
        cwd=workspace, env=environment | told, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(out.read_text())
    assert "problem" not in found, (found["problem"], done.stderr)
    return found


@pytest.fixture(scope="module")
def seen(recorded, tmp_path_factory):
    return steps_in_neovim(
        "neovim_program.lua",
        recorded.folder,
        tmp_path_factory.mktemp("neovim") / "seen.json",
        CLEW_TEST_FUNCTION_LINE=str(recorded.line_of("chunkstore/index.py", "def lookup")),
        CLEW_TEST_LOG=recorded.log_path,
        CLEW_TEST_LOG_LINE=str(recorded.log_line),
        CLEW_TEST_ERROR="Write request failed",
    )


def test_neovim_shows_code_lenses_of_functions(seen, recorded):
    line = recorded.line_of("chunkstore/index.py", "def lookup")
    titles = [lens["title"] for lens in seen["lenses"] if lens["line"] == line]
    assert any(re.search(r"\d calls?", title) for title in titles), seen["lenses"]


def test_neovim_hover_shows_the_statistics_of_the_function(seen):
    assert "lookup" in "\n".join(seen["hover"]) and "calls" in "\n".join(seen["hover"])


def test_neovim_definition_of_log_line_is_its_logging_call(seen, recorded):
    assert seen["definition"]["file"].endswith("chunkstore/server.py")
    assert seen["definition"]["line"] == recorded.logging_line


def test_neovim_walk_leads_from_an_error_to_its_cause_and_back(seen, recorded):
    start, cause, back = seen["walk"]
    assert "Write request failed" in start
    assert cause.startswith("cause: ") and " earlier" in cause
    assert "Write request failed" in back
    # Debian's Neovim lacks `window/showDocument`, so the message has the place.
    assert re.search(rf"\nat \S*/chunkstore/server\.py:{recorded.logging_line}$", start)
    assert re.search(r"\nat \S*/chunkstore/\w+\.py:\d+$", cause)


SOURCE = """\
class Stock:
    def __init__(self):
        self.price = 1

    def sell(self, item):
        return item


def order(item, user):
    return item


def take(item):
    return item
"""
SPEC = """\
include standard;
scope shop.app:ordr, shop.app:take;

send shop.app:order key item as sold;
receive shop.app:take key item as sold;
"""


def test_neovim_edits_a_spec_with_all_features(tmp_path):
    """Neither a run nor a plugin is needed."""
    workspace = tmp_path / "workspace"
    (workspace / "shop").mkdir(parents=True)
    (workspace / "shop/__init__.py").touch()
    (workspace / "shop/app.py").write_text(SOURCE)
    (workspace / "shop.esl").write_text(SPEC)
    seen = steps_in_neovim("neovim_spec.lua", workspace, tmp_path / "seen.json")
    lines = {words: number for number, words in enumerate(SOURCE.splitlines(), 1)}
    app = workspace / "shop/app.py"
    assert seen["filetype"] == "esl"
    (problem,) = seen["diagnostics"]
    assert "ordr" in problem and "did you mean" in problem
    assert seen["actions"][0].startswith("Change to `shop.app:order`")
    assert seen["proposals"] == [{"word": "price", "detail": ""}]
    assert "1 function" in "\n".join(seen["hover"]) and "(item, user)" in "\n".join(seen["hover"])
    assert [(lens["line"], lens["title"]) for lens in seen["lenses"]] == [
        (2, "matches 2 functions"), (2, "record"), (3, "matches 1 function"), (4, "matches 1 function"),
        (5, "matches 1 function"),
    ]  # fmt: skip
    assert seen["told"].splitlines() == [
        f"{app}:{lines['def order(item, user):']}", f"{app}:{lines['def take(item):']}"
    ]  # fmt: skip
    assert seen["text"].splitlines() == [
        "include standard;",
        "scope shop.app:order, shop.app:take;",
        "payload shop.app:Stock.sell value this.price;",
        "send shop.app:order key item as buy;",
        "receive shop.app:take key item as buy;",
    ]
    assert seen["listed"] == [lines["def order(item, user):"], lines["def take(item):"]]
    assert seen["rules"] == [
        "2: scope shop.app:order, shop.app:take;", "4: send shop.app:order key item as buy;"
    ]  # fmt: skip
    # The function is already traced, so `trace this function` is missing.
    actions = ("mark this as a request", "send here (key item)", "receive here (key item)")
    assert seen["python_actions"] == [f"clew: {action}" for action in actions]
    assert seen["added"].splitlines() == [*seen["text"].splitlines(), "", "request shop.app:order;"]
