"""Loads a module of the tests by its path: a benchmark that is run as a script has its own folder on the path, not theirs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).resolve().parents[1] / "tests"


def load(path: str) -> ModuleType:
    """The module at `path` below tests/, which must not import others of the tests."""
    name = "_clew_tests_" + path.removesuffix(".py").replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, TESTS / path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
