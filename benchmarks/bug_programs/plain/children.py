"""Child processes end in several ways; an item that one of them sent is no reason of the others' ends."""

import logging
import multiprocessing
import subprocess
import sys
import time
from typing import Any

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("kitchen")


def cook(dishes: Any) -> None:
    dishes.put("soup")
    time.sleep(5)


def burn() -> None:
    sys.exit(3)


def main() -> None:
    context = multiprocessing.get_context("fork")
    dishes = context.Queue()
    steady = context.Process(target=cook, args=(dishes,), name="steady")
    steady.start()
    log.info("%s is ready", dishes.get())
    steady.terminate()
    steady.join()
    burning = context.Process(target=burn, name="burning")
    burning.start()
    burning.join()
    if burning.exitcode:
        log.error("the roast is burnt: %d", burning.exitcode)
    try:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(3)"], timeout=0.5, check=False)
    except subprocess.TimeoutExpired:
        log.error("the bread takes too long")
    time.sleep(0.1)
    log.error("the battery is low")


main()
