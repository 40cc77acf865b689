"""A workspace whose relay ends with the test."""

import os
import signal
import time

import pytest

from clew.server.relay.lifetime import running


@pytest.fixture
def workspace(tmp_path):
    yield tmp_path
    there = running(tmp_path)
    if there is not None:
        os.kill(there.pid, signal.SIGTERM)
        while running(tmp_path) is not None:
            time.sleep(0.02)
