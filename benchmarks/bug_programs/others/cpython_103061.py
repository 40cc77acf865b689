"""An exception that cannot be unpickled ends the pool's result thread: python/cpython#103061 and #79492, still open.

The maintainers: the exception did not happen in the child, but in the thread that reads results. Nobody sets the outcome.
"""

import logging
import multiprocessing
import sys

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("prices")


class Missing(Exception):
    def __init__(self, article: str, shop: str) -> None:
        super().__init__(f"{article} at {shop}")


def price(article: str) -> int:
    if "plain" in sys.argv:
        raise LookupError(article)
    raise Missing(article, "corner shop")


def main() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        waiting = pool.apply_async(price, ("pen",))
        try:
            waiting.get(timeout=2)
        except multiprocessing.TimeoutError:
            log.error("the pool gives no answer")
        except LookupError:
            log.info("the article is missing")


if __name__ == "__main__":
    main()
