"""The items to buy, shared by several threads."""

import logging
import os
import threading
import time

log = logging.getLogger(__name__)
SLOW_NS = int(os.environ.get("SHOP_SLOW_NS", "0"))


class SoldOut(Exception):
    pass


class Stock:
    def __init__(self) -> None:
        self._sold: set[int] = set()
        self._lock = threading.Lock()

    def mark_sold(self, item: int) -> None:
        with self._lock:
            self._sold.add(item)
        log.info("item %s is sold out", item)

    def lookup(self, item: int) -> bool:
        end = time.thread_time_ns() + SLOW_NS
        while time.thread_time_ns() < end:
            pass
        with self._lock:
            return item not in self._sold


class Sweeper(threading.Thread):
    """Sells the last one of an item."""

    def __init__(self, stock: Stock, item: int) -> None:
        super().__init__(name="sweeper")
        self._stock = stock
        self._item = item

    def run(self) -> None:
        self._stock.mark_sold(self._item)
