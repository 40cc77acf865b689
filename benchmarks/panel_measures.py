"""What each view of `benchmarks/panel.py` is measured with: a served panel, and how long frames and their code took."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
WIDTH, HEIGHT = 1440, 900
MEASURE = """
window.measured = { frames: [], scripts: [] };
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (work) => ask((now) => {
  const begun = performance.now();
  work(now);
  window.measured.scripts.push(performance.now() - begun);
});
let before = 0;
const tick = (now) => { if (before) window.measured.frames.push(now - before); before = now; ask(tick); };
ask(tick);
"""
"""Notes how long every frame took, and the code in it."""
BLANK = "data:text/html,<canvas></canvas>"


def percentile(values: list[float], share: float) -> float:
    return float(np.percentile(values, share)) if values else float("nan")


@contextlib.contextmanager
def served(workspace: Path, *options: str) -> Iterator[str]:
    """The address of `clew view`."""
    command = [sys.executable, "-m", "clew", "view", "--no-browser", *options]
    process = subprocess.Popen(command, cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout
        found = re.search(r"http://\S+", process.stdout.readline())
        if not found:
            sys.exit("`clew view` gave no address; is the panel built (`make panel`)?")
        yield found[0]
    finally:
        process.terminate()
        process.wait(10)


def frames_of(page: Any, work: Callable[[], None]) -> dict[str, list[float]]:
    page.evaluate("window.measured = { frames: [], scripts: [] }")
    work()
    found: dict[str, list[float]] = page.evaluate("window.measured")
    return found
