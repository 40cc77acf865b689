"""One lock per cached property serves all instances, reported as bpo-43468.

Reports that have nothing in common are made one after the other.
"""

import functools
import logging
import threading
import time

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("reports")


class Report:
    def __init__(self, number: int) -> None:
        self.number = number

    @functools.cached_property
    def pages(self) -> int:
        time.sleep(0.2)
        return self.number


def make(report: Report) -> None:
    log.debug("%d pages", report.pages)


def main() -> None:
    begin = time.monotonic()
    threads = [threading.Thread(target=make, args=(Report(number),), name=f"writer-{number}") for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    log.log(logging.ERROR if seconds > 0.5 else logging.INFO, "five reports in %.2f s", seconds)


main()
