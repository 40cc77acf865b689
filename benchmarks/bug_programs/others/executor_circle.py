"""Jobs fill the loop's executor and wait for a coroutine that needs the executor: the documented deadlock of nested waits.

`getaddrinfo` runs in the default executor, so jobs that wait for a connection stop the whole program (bpo-34037's family).
"""

import asyncio
import concurrent.futures
import logging
import sys

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("crawler")


async def resolve(host: str) -> object:
    return await asyncio.get_running_loop().getaddrinfo(host, 80)


def visit(host: str, loop: asyncio.AbstractEventLoop) -> None:
    address = asyncio.run_coroutine_threadsafe(resolve(host), loop)
    try:
        address.result(timeout=1)
        log.info("visited %s", host)
    except concurrent.futures.TimeoutError:
        log.error("no address for %s", host)


async def main() -> None:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(int(sys.argv[1]), thread_name_prefix="visitor"))
    await asyncio.gather(*(loop.run_in_executor(None, visit, "127.0.0.1", loop) for _ in range(2)))


asyncio.run(main())
