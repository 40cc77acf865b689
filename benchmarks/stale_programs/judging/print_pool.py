"""Maintenance gives a printer that it has retired back to the pool, at the front, where the next job takes it."""

from __future__ import annotations

import collections
import logging
import threading
import typing

logging.basicConfig(level=logging.WARNING, format="%(threadName)s %(levelname)s %(message)s")


class Printer(typing.NamedTuple):
    name: str
    serial: int


class OutOfService(Exception): ...


class Pool:
    def __init__(self, printers: typing.Iterable[Printer]) -> None:
        self._idle = collections.deque(printers)
        self._free = threading.Condition()

    def borrow(self) -> Printer:
        with self._free:
            self._free.wait_for(lambda: self._idle, timeout=5)
            return self._idle.popleft()

    def hand_in(self, printer: Printer, first: bool = False) -> None:
        with self._free:
            if first:
                self._idle.appendleft(printer)
            else:
                self._idle.append(printer)
            self._free.notify()


class Maintenance(threading.Thread):
    def __init__(self, pool: Pool, retired: set[int]) -> None:
        super().__init__(name="maintenance")
        self.pool, self.retired = pool, retired

    def inspect(self, printer: Printer) -> None:
        if printer.serial < 100:
            self.retired.add(printer.serial)
        self.pool.hand_in(printer, first=True)

    def run(self) -> None:
        self.inspect(self.pool.borrow())


def print_page(pool: Pool, retired: set[int], page: str) -> str:
    printer = pool.borrow()
    if printer.serial in retired:
        raise OutOfService(f"{printer.name} was retired and got {page}")
    pool.hand_in(printer)
    return f"{page} on {printer.name}"


def main() -> None:
    retired: set[int] = set()
    pool = Pool([Printer("laser-1", 99), Printer("laser-2", 217)])
    maintenance = Maintenance(pool, retired)
    maintenance.start()
    maintenance.join()
    print_page(pool, retired, "page 1")


main()
