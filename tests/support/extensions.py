"""The C extensions as `setup.py` lists them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import setuptools

ROOT = Path(__file__).resolve().parents[2]


def extensions() -> list[setuptools.Extension]:
    """Each extension with its name, its sources and its include folders, relative to the project's folder."""
    from distutils.core import run_setup  # setuptools provides it, also where the standard library has none

    with contextlib.chdir(ROOT):
        return list(run_setup("setup.py", stop_after="init").ext_modules)
