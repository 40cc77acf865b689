"""A fork while another thread logs leaves the handler locked in the child, reported as Delgan/loguru#231."""

import multiprocessing
import os
import sys
import threading
import time

from loguru import logger


def slow_sink(message: str) -> None:
    time.sleep(0.5)
    sys.stderr.write(message)


def work() -> None:
    logger.info("work begins")


def give_up() -> None:
    os.write(2, b"ERROR the child did not end\n")
    os._exit(3)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    alarm = threading.Timer(4, give_up)
    alarm.daemon = True
    alarm.start()
    logger.remove()
    logger.add(slow_sink)
    thread = threading.Thread(target=work, name="logging-thread")
    thread.start()
    time.sleep(0.1)
    process = multiprocessing.Process(target=work, daemon=True)
    process.start()
    thread.join()
    process.join()
    os.write(2, b"all ended\n")
    alarm.cancel()
