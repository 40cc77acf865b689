"""Output lines: what the process writes to the descriptors 1 and 2 by `print`, `sys.stdout`, `sys.stderr` or `os.write`.

The recorder's core observes the writes (`csrc/facts/outputs.c`). Invariant: `sys.stdout`, `print` and the types of files
look and behave as without clew.
"""

from __future__ import annotations

import io
import os

from clew.instrument.probes.install.hidden_calls import Quiet
from clew.instrument.recorder import lifecycle, redaction
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern

_GAPS = "outputs"
"""The name of the gaps where there were too many."""


def install() -> None:
    with io.TextIOWrapper(io.BufferedWriter(io.FileIO(os.devnull, "w")), encoding="utf-8") as sample:
        core.watch_outputs(sample, os.write, Quiet(_redacted), intern(_GAPS))
    lifecycle.at_end(core.outputs_over)


def _redacted(text: str) -> str:
    return redaction.current().text(text)
