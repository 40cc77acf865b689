"""Large blocks of memory as files, for a process that this module was preloaded in (`csrc/scratch.c`,
`graph/runtime/worker_process.py`)."""

import os

def begin(folder: str | os.PathLike[str], least: int) -> None:
    """From now on blocks of `least` bytes on are files in a folder, without names. Raises RuntimeError where the module was not
    preloaded."""

def taken() -> tuple[int, int, int]:
    """How many blocks there are, their bytes, and the most bytes that there were."""

def refused() -> int:
    """Why the last block could not be had, as an error's number; 0 when all could."""
