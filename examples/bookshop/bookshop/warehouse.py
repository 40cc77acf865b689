"""Packs and sends what was bought, one order after the other."""

import logging
import queue
import threading
import time
from typing import NamedTuple

from bookshop.stock import Stock

log = logging.getLogger("bookshop.warehouse")
PACK_SECONDS = 0.01
WRAP_SECONDS = 0.4


class Order(NamedTuple):
    number: int
    gift: bool


class Warehouse(threading.Thread):
    def __init__(self, stock: Stock) -> None:
        super().__init__(name="warehouse", daemon=True)
        self.stock = stock
        self.orders: queue.Queue[Order | None] = queue.Queue()

    def run(self) -> None:
        while (order := self.orders.get()) is not None:
            try:
                self.send(order)
            except LookupError as error:
                log.error("order %d cannot be sent: %s", order.number, error)

    def send(self, order: Order) -> None:
        title = self.stock.take(order.number)
        self.pack(order)
        log.info("order %d was sent: %s", order.number, title)

    def pack(self, order: Order) -> None:
        time.sleep(WRAP_SECONDS if order.gift else PACK_SECONDS)


class Sweeper(threading.Thread):
    def __init__(self, stock: Stock) -> None:
        super().__init__(name="sweeper", daemon=True)
        self.stock = stock

    def run(self) -> None:
        while True:
            time.sleep(0.02)
            self.stock.sweep()
