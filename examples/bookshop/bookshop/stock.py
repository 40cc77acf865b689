"""The copies on the shelf, and those that are reserved for a customer."""

import logging
import threading
import time

log = logging.getLogger("bookshop.stock")
HOLD_SECONDS = 0.3
SHELF = {"Emma": 40, "Dune": 40, "Ulysses": 40, "Middlemarch": 40}


class Reservation:
    def __init__(self, number: int, title: str) -> None:
        self.number, self.title = number, title
        self.expires = time.monotonic() + HOLD_SECONDS


class Stock:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.copies = dict(SHELF)
        self.reserved: dict[int, Reservation] = {}
        self.numbers = 0

    def reserve(self, title: str) -> int:
        with self.lock:
            if not self.copies[title]:
                raise LookupError(f"{title} is sold out")
            self.copies[title] -= 1
            self.numbers += 1
            self.hold(self.numbers, title)
            return self.numbers

    def hold(self, number: int, title: str) -> None:
        self.reserved[number] = Reservation(number, title)

    def release(self, number: int) -> None:
        reservation = self.reserved.pop(number)
        self.copies[reservation.title] += 1
        log.info("released reservation %d of %s", number, reservation.title)

    def take(self, number: int) -> str:
        """The title of a reserved copy, which leaves the shelf."""
        with self.lock:
            if number not in self.reserved:
                raise LookupError("its reservation is gone")
            return self.reserved.pop(number).title

    def sweep(self) -> None:
        """Give back the copies that a customer reserved and did not buy."""
        with self.lock:
            now = time.monotonic()
            for reservation in list(self.reserved.values()):
                if reservation.expires < now:
                    self.release(reservation.number)
