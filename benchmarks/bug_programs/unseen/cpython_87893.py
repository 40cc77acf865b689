"""Futures that `shutdown(cancel_futures=True)` cancels are never reported to those who wait: python/cpython#87893, #92001.

A cancelled future tells its waiters only when a worker takes it from the queue; shutdown has emptied the queue. Still open.
"""

import concurrent.futures
import logging
import sys
import threading
import time

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("crawler")


def fetch(page: str) -> str:
    time.sleep(0.4)
    return page


def collect(fetches: "dict[concurrent.futures.Future[str], str]") -> None:
    pending = set(fetches.values())
    try:
        for done in concurrent.futures.as_completed(fetches, timeout=2):
            pending.discard(fetches[done])
            log.info("%s is settled", fetches[done])
    except concurrent.futures.TimeoutError:
        log.error("no word from %s", ", ".join(sorted(pending)))


def main() -> None:
    pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="fetcher")
    fetches = {pool.submit(fetch, page): page for page in ("about", "blog")}
    collector = threading.Thread(target=collect, args=(fetches,), name="collector")
    collector.start()
    time.sleep(0.1)
    pool.shutdown(wait=False, cancel_futures="finish" not in sys.argv)
    collector.join()


main()
