"""What `include NAME` stands for: an adapter of the recorder, or a spec shipped with clew in `packs/`.

Invariant: a pack is one file that includes adapters and other packs and holds statements like any spec.
"""

from __future__ import annotations

import functools
from importlib.resources import files

ADAPTERS = {
    "asyncio": "tasks",
    "threads": "threads",
    "locks": "locks",
    "callbacks": "callbacks",
    "executors": "executors",
    "queues": "queues",
    "processes": "processes",
    "http": "http",
    "sockets": "sockets",
}
"""Names in a spec, and the adapters of the standard library they stand for."""


@functools.cache
def shipped() -> dict[str, str]:
    """Name and text of each pack, the standard library's first."""
    folder = files("clew.esl").joinpath("packs")
    return {
        entry.name.removesuffix(".esl"): entry.read_text("utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: (entry.name != "standard.esl", entry.name))
        if entry.name.endswith(".esl")
    }


def known() -> tuple[str, ...]:
    return (*ADAPTERS, *shipped())
