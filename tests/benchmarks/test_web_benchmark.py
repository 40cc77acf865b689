"""`benchmarks/web.py` checks the answers about a web service's ERROR lines; run here with a few requests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "web.py"


def test_answers_about_a_web_services_errors_stay_in_their_requests():
    command = [sys.executable, SCRIPT, "--only", "answers", "--requests", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and ("pip cannot install" in done.stderr or "is not installed" in done.stderr):
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    found = {row["name"]: row for row in json.loads(done.stdout.splitlines()[-1])["rows"]}
    assert found["answers that leave their request by scheduling"]["ours"] == 0, done.stdout
    assert found["claims about a load without faults"]["ours"] == 0, done.stdout
