"""Fixtures for the recorder's core, and ways to run small programs with it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from clew.instrument.recorder import _core
from clew.records.read.process_records import ProcessRecords
from clew.records.read.reader import read_process
from clew.records.run.directory import trace_files

QUOTA = 1 << 30


@pytest.fixture(params=["c"])
def implementation(request) -> str:
    return request.param


@pytest.fixture
def core(implementation) -> Iterator[ModuleType]:
    yield _core
    _core.stop()


class Recording:
    """One trace file of this process."""

    def __init__(self, core: ModuleType, folder: Path) -> None:
        self.core = core
        self.folder = folder
        self.path = folder / "none"

    def start(self, *, info: bytes = b"{}", parent_uid: int = 0, quota: int = QUOTA, budget: float = 0.0) -> None:
        self.path = self.folder / f"{os.getpid()}-{self.core.uid():016x}.clew"
        self.core.start(str(self.path), info, parent_uid, quota, budget)

    def stop(self) -> ProcessRecords:
        self.core.stop()
        return read_process(self.path)


@pytest.fixture
def recording(core, tmp_path) -> Recording:
    return Recording(core, tmp_path)


@pytest.fixture
def run_program(implementation, tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program that may use `start(**options)` and `core`; its trace goes to `tmp_path`."""
    prelude = """
    import os, sys
    from clew.instrument.recorder.core import core
    from clew.records.format.event import Kind
    FOLDER = sys.argv[1]
    def start(quota=1 << 30, budget=0.0, parent_uid=0):
        core.start(f"{FOLDER}/{os.getpid()}-{core.uid():016x}.clew", b"{}", parent_uid, quota, budget)
    """

    def run(source: str, *, folder: Path = tmp_path, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        program = textwrap.dedent(prelude) + textwrap.dedent(source)
        return subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program, str(folder)],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip

    return run


@pytest.fixture(scope="session")
def fuzz() -> ModuleType:
    """Load `fuzz.py` of this folder."""
    spec = importlib.util.spec_from_file_location("clew_fuzz", Path(__file__).with_name("fuzz.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["clew_fuzz"] = module  # for its dataclasses
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def read_all(tmp_path) -> Callable[[], list[ProcessRecords]]:
    return lambda: [read_process(path) for path in trace_files(tmp_path)]
