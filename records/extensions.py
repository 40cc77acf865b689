"""List clew's C extensions, and describe the installation of a missing one.

Invariant: `missing` never raises. In an installation without the analysis, it requires only the recorder's extensions.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys

WITHOUT_GIL = "t" in getattr(sys, "abiflags", "")
"""Whether the interpreter is built to run without the GIL. The recorder relies on the GIL, so it is not built there."""

RECORDING = (
    "clew.records.compress._codec",
    *(() if WITHOUT_GIL else ("clew.instrument.recorder._core",)),
    "clew.instrument.probes._entry",
)
SECOND_LOOK = () if WITHOUT_GIL or sys.version_info >= (3, 14) else ("clew.instrument.values._steps",)
"""Needed to run a test again and follow its values."""
ANALYSIS = (
    "clew.graph.kernel._structure",
    "clew.graph.kernel._ingest",
    "clew.graph.kernel._timeline",
    "clew.compare.patterns._sequitur",
)


def missing(modules: tuple[str, ...] = RECORDING + ANALYSIS) -> str:
    """Return one line with the first extension that cannot be loaded and the remedy; "" if all can be loaded."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            if module in RECORDING or importlib.util.find_spec(module.rpartition(".")[0]) is not None:
                return how_to_install(module, error)
    return ""


def how_to_install(module: str, error: ImportError) -> str:
    """Return the line for an extension that cannot be loaded."""
    return (
        f"the C extension {module} cannot be loaded ({error}); install a wheel of clew, or a C compiler and the Python headers"
        " (apt-get install gcc python3-dev) and then clew again"
    )
