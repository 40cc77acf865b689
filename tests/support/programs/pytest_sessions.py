"""Sessions of pytest in another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PLUGINS = ["-p", "clew.instrument.pytest_plugin", "-p", "pytest_asyncio.plugin"]


INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON", "PYTEST"))}


def run(
    folder: Path, *words: str, plugins: list[str] = PLUGINS, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *words],
        cwd=folder, env={**INHERITED, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(env or {})},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
