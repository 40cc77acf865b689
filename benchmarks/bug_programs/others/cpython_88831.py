"""A task that only its own cycle refers to is collected while it waits: python/cpython#88831 (bpo-44665).

The maintainers: the loop keeps weak references to tasks, so the program must keep a reference; the documentation says so.
"""

import asyncio
import gc
import logging
import sys

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("backup")
kept: set[asyncio.Task[None]] = set()
finished: list[str] = []


async def copy_files() -> None:
    waiting = asyncio.Event()
    if "keep" in sys.argv:
        asyncio.get_running_loop().call_later(0.1, waiting.set)
    await waiting.wait()
    finished.append("files")


async def main() -> None:
    task = asyncio.create_task(copy_files(), name="copy-files")
    if "keep" in sys.argv:
        kept.add(task)
    del task
    await asyncio.sleep(0.05)
    gc.collect()
    await asyncio.sleep(0.3)
    if finished:
        log.info("the files are copied")
    else:
        log.error("the files were never copied")


asyncio.run(main())
