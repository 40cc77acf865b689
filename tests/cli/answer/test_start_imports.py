"""An answer imports only what it needs, when it builds the graph and when it reads it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"pandas", "scipy", "pygls", "aiohttp", "lark"}


@pytest.mark.parametrize("command", [["why"], ["why", "no 7"], ["path"], ["runs"], ["hang"]], ids=" ".join)
def test_answers_import_no_heavy_library_at_the_first_or_second_time(tmp_path: Path, command: list[str]) -> None:
    program = tmp_path / "shop.py"
    program.write_text("import logging\n\ndef price():\n    logging.error('no %d', 7)\n\nprice()\n")
    record = [sys.executable, "-m", "clew", "run", "--quiet", "--", sys.executable, program.name]
    subprocess.run(record, cwd=tmp_path, check=True, capture_output=True)
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print('heavy:', sorted({HEAVY!r} & set(sys.modules))))\n"
        "from clew.cli.main import main\n"
        f"sys.argv = ['clew', *{command!r}]\n"
        "main()\n"
    )
    for _ in ("builds the graph", "reads it"):
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[-1:] == ["heavy: []"], done.stdout + done.stderr
