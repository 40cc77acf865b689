"""A process is ended while it holds the lock of a queue, and no other can read: bpo-20527 (and python/cpython#87971).

The maintainers: `get` holds the queue's lock for reading as long as it waits, and nobody gives it back for a dead process.
"""

import logging
import multiprocessing
import sys
import time
from typing import Any

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(processName)s %(message)s")
log = logging.getLogger("films")


def convert(films: Any, finished: Any) -> None:
    while (film := films.get()) is not None:
        log.info("converts %s", film)
        finished.set()


def main() -> None:
    context = multiprocessing.get_context("fork")
    films, finished = context.Queue(), context.Event()
    converters = []
    for number in (1, 2):
        converter = context.Process(target=convert, args=(films, finished), name=f"converter-{number}", daemon=True)
        converter.start()
        converters.append(converter)
        time.sleep(0.4)
    log.info("one converter is enough")
    if "ask" in sys.argv:
        films.put(None)
    else:
        converters[0].terminate()
    time.sleep(0.2)
    films.put("holidays.avi")
    if not finished.wait(2):
        log.error("holidays.avi was not converted")


main()
