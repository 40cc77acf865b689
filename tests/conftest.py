"""Settings and fixtures of all tests."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.examples import FULL

# A shell starts background jobs with SIGINT ignored, and children inherit that: without this line, tests of Ctrl-C would wait
# for ever there.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the time of an example depends on the load of the machine. `--hypothesis-profile full`, which `make test-all`
# gives, tries many random examples; the profile `quick` tries a tenth of them, the same ones each time.
settings.register_profile("full", deadline=None, max_examples=FULL, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "quick", settings.get_profile("full"), max_examples=FULL // 10, derandomize=True, database=None
)
settings.load_profile("quick")


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """Yield a file system of 1.5 MB; skip the test with a message where mounting is not allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"A FULL DISK IS NOT TESTED HERE: {' '.join(command)}: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
