"""`benchmarks/web.py` checks the answers about a web service's ERROR lines; run here with a few requests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "web.py"


def _rows():
    command = [sys.executable, SCRIPT, "--only", "answers", "--requests", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and ("pip cannot install" in done.stderr or "is not installed" in done.stderr):
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return {row["name"]: row["ours"] for row in json.loads(done.stdout.splitlines()[-1])["rows"]}, done.stdout


def test_answers_about_a_web_services_errors_stay_in_their_requests():
    found, told = _rows()
    assert found["answers that leave their request by scheduling"] == 0, told
    if found["claims about a load without faults"]:
        # When the machine stops a process, its event loop looks blocked. A wrong diagnosis would come again.
        again, told_again = _rows()
        assert again["claims about a load without faults"] == 0, told + told_again
