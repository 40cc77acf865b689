"""A lock that another thread holds at a fork stays locked in the child, of the family of bpo-6721."""

import logging
import multiprocessing
import sys
import threading
import time

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("jobs")
guard = threading.Lock()


def keep() -> None:
    with guard:
        time.sleep(0.5)


def child() -> None:
    with guard:
        pass


def main() -> None:
    threading.Thread(target=keep, name="keeper").start()
    time.sleep(0.1)
    process = multiprocessing.Process(target=child, daemon=True)
    process.start()
    process.join(3)
    if process.is_alive():
        log.error("the child hangs")
        process.kill()
    else:
        log.info("the child ended")


if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    main()
