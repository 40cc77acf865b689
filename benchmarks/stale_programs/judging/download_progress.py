"""Two tasks count finished parts in one dict: each reads the number, waits for the disk, and writes the number plus one."""

import asyncio
import logging
import sys

log = logging.getLogger("downloads")


class Disk:
    """Answers both writers at once, in the order in which they came."""

    def __init__(self, writers):
        self.writers = asyncio.Barrier(writers)

    async def save(self, part):
        await self.writers.wait()
        return len(part)


async def finish_part(progress, disk, part):
    done = progress["done"]
    progress["bytes"] = progress["bytes"] + await disk.save(part)
    progress["done"] = done + 1


async def fetch(progress, disk, name):
    part = name * 3
    progress["started"] += 1
    await finish_part(progress, disk, part)


async def download(names):
    progress = {"started": 0, "done": 0, "bytes": 0}
    disk = Disk(len(names))
    async with asyncio.TaskGroup() as parts:
        for name in names:
            parts.create_task(fetch(progress, disk, name), name=f"part-{name}")
    return progress


def report(progress):
    if progress["done"] != progress["started"]:
        log.error("download is stuck at %(done)d of %(started)d parts", progress)


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    report(asyncio.run(download(["a", "b"])))
