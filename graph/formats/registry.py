"""List the formats of foreign traces that clew reads.

To add a format, write a module in `graph/formats/readers` that declares `FORMAT`, and add its name here. Importing this module
loads no reader.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from clew.graph.formats.format import Format

READERS: Final = {
    "otlp": "otlp",
    "jaeger": "jaeger",
    "zipkin": "zipkin",
    "chrome": "chrome",
    "vector-clock": "vector_clock",
}
"""The module in `graph/formats/readers` for each format, in the order of messages and help."""
AUTO: Final = "auto"
"""The choice that lets the content of a file decide."""


@functools.cache
def format_named(name: str) -> Format:
    """Load a format by its name. Raises `KeyError`."""
    declared: Format = importlib.import_module(f"clew.graph.formats.readers.{READERS[name]}").FORMAT
    return declared


def formats() -> list[Format]:
    """Load all formats."""
    return [format_named(name) for name in READERS]
