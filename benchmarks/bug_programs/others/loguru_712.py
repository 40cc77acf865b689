"""An object logs at its collection while the handler's lock is held by the same thread: Delgan/loguru#712.

The maintainer: the lock is not re-entrant. Since 0.7.0 loguru raises an error instead of waiting.
"""

import os
import threading
import time

from loguru import logger


class Connection:
    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        logger.info("connection closed")


def sink(message: str) -> None:
    import gc

    gc.collect()


def give_up() -> None:
    time.sleep(3)
    os.write(2, b"ERROR the request is stuck\n")
    os._exit(3)


def serve() -> None:
    Connection()
    logger.info("request begins")


logger.remove()
logger.add(sink, catch=True)
threading.Thread(target=give_up, daemon=True, name="watchdog").start()
thread = threading.Thread(target=serve, name="request", daemon=True)
thread.start()
thread.join()
os.write(2, b"the request ended\n")
