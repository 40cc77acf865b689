"""Fixtures: a workspace whose relay ends with the test, a chain of relays, and a certificate."""

import os
import signal
import subprocess
import time

import pytest

from clew.server.relay.launch import running
from tests.support.editor.relay_chain import Chain


@pytest.fixture
def workspace(tmp_path):
    yield tmp_path
    there = running(tmp_path)
    if there is not None:
        os.kill(there.pid, signal.SIGTERM)
        while running(tmp_path) is not None:
            time.sleep(0.02)


@pytest.fixture
def chain(tmp_path):
    made = []

    def make(count, **more):
        made.append(Chain(tmp_path, count, **more))
        return made[0]

    yield make
    for one in made:
        one.close()
        for number in range(len(one.workspaces)):
            assert one.token(number) not in one.said(number) and "Traceback" not in one.said(number)


@pytest.fixture
def certified(tmp_path):
    """Return a key and a self-signed certificate for localhost."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, certificate
