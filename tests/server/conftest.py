"""Fixtures: a small program, recorded twice by the real recorder: unchanged, and with a slow function."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_lsp
from pytest_lsp import LanguageClient

from clew.server.session.session import Session
from tests.support.editor.lsp import SERVER, begin

PROGRAM = Path(__file__).parents[1] / "support" / "programs" / "shop"


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """Return a workspace with the runs `before` and `after`, whose look-ups take 3 ms longer; both write shop.log."""
    folder = tmp_path_factory.mktemp("shop") / "work space"
    shutil.copytree(PROGRAM, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name, slow in (("before", "0"), ("after", "3000000")):
        done = subprocess.run(
            [sys.executable, "-m", "clew", "run", "--workspace", ".", "--spec", "shop.esl", "--name", name, "--",
             sys.executable, "-m", "shop.app"],
            cwd=folder, env={**os.environ, "SHOP_SLOW_NS": slow}, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return folder


@pytest_lsp.fixture(config=SERVER, scope="module", loop_scope="module")
async def editor(lsp_client: LanguageClient, shop):
    """Open the shop in VS Code with the extension; all tests of a file share it."""
    await begin(lsp_client, shop)
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def session(shop):
    return Session(shop)


@pytest.fixture
def line_of(shop):
    """Return a function that finds the line (from 1) of the first occurrence of some words in a file of the shop."""

    def find(file, words):
        lines = (shop / file).read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if words in line)

    return find
