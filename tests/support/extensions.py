"""The C extensions as `setup.py` lists them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import setuptools

ROOT = Path(__file__).resolve().parents[2]


def extensions() -> list[setuptools.Extension]:
    """Return the extensions with their names, sources and include folders, relative to the folder of the project."""
    from distutils.core import run_setup  # setuptools provides it where the standard library lacks it

    with contextlib.chdir(ROOT):
        return list(run_setup("setup.py", stop_after="init").ext_modules)
