"""The script of `make demo` finds the cause of the error and the slow function, and names the next steps."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "chunkstore"


def test_demo_script_finds_the_delete_and_the_slow_function(tmp_path):
    example = shutil.copytree(EXAMPLE, tmp_path / "chunkstore", ignore=shutil.ignore_patterns(".clew", "__pycache__"))
    # The script uses `clew` and `python` of this environment, as after `make setup`.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", str(example / "demo.sh")],
        env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    why, diff = done.stdout.split("3. A job became slow")
    assert re.search(r"\bserver\.py:\d+ +ERROR Write request failed: chunk chunk-\d+ is marked as deleted", why)
    assert re.search(r"ChunkIndex\.lookup used chunk chunk-\d+, which ChunkIndex\.mark_deleted defined", why)
    assert re.search(r"That was part of the request delete of client client-\d", why)
    assert re.search(r"in delete of client client-\d, .* earlier", why)
    assert re.search(r"^chunkstore\.index:ChunkIndex\.lookup got [\d.,]+x slower", diff, re.M)
    assert "clew view" in diff and "VS Code" in diff
    assert (example / ".clew" / ".gitignore").read_text() == "*\n"
    assert not list(tmp_path.glob("chunkstore.*"))
