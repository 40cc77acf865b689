"""Which source files a second look follows: those of the project, not the standard library's or an installed package's."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path

_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules", ".tox", ".nox"})


def is_followed_below(root: Path, packages: Iterable[str] = ()) -> Callable[[str], bool]:
    """Return a test of file names: files below `root`, and installed packages that are named, are followed."""
    below = os.path.join(os.path.realpath(root), "")
    standard = [os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    named = frozenset(packages)
    here = os.path.join(os.path.dirname(os.path.realpath(__file__)), "")

    def is_followed(file: str) -> bool:
        path = os.path.realpath(file)
        if not path.endswith(".py") or path.startswith(here):
            return False
        parts = path.split(os.sep)
        for installed in _INSTALLED.intersection(parts):
            inside = parts[parts.index(installed) + 1 :]
            return bool(inside) and inside[0].removesuffix(".py") in named
        if not path.startswith(below):
            return False
        # A virtual environment's own standard library, or a Python that was built inside the project.
        return not any(path.startswith(folder + os.sep) for folder in standard)

    return is_followed
