"""A nested task group swallows the cancellation of the outer one, reported as python/cpython#116720; right since 3.13."""

import asyncio
import logging

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("import")


async def fail(what: str) -> None:
    await asyncio.sleep(0.05)
    raise ValueError(f"bad {what}")


async def read_parts() -> None:
    try:
        async with asyncio.TaskGroup() as parts:
            parts.create_task(fail("part"), name="read-part")
    except* ValueError:
        log.info("the part is skipped")
    await asyncio.sleep(0.5)
    log.error("reading goes on after the import was given up")


async def main() -> None:
    try:
        async with asyncio.TaskGroup() as whole:
            whole.create_task(read_parts(), name="read-parts")
            whole.create_task(fail("header"), name="read-header")
    except* ValueError as error:
        log.info("the import ended: %s", error.exceptions)


asyncio.run(main())
