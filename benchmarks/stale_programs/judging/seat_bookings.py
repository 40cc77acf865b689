"""An import in another process replaces a booking that was made after the import's file had been written."""

from __future__ import annotations

import logging
import sqlite3
from multiprocessing import Process, Queue
from pathlib import Path

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(levelname)s %(message)s")
log = logging.getLogger("seats")
DATABASE = Path("seats.sqlite")


def query(statement: str, *values: object) -> list[tuple[str, ...]]:
    connection = sqlite3.connect(DATABASE)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def assign(seat: str, guest: str) -> None:
    query("REPLACE INTO booking (seat, guest) VALUES (?, ?)", seat, guest)


def guest_of(seat: str) -> str:
    return query("SELECT guest FROM booking WHERE seat = ?", seat)[0][0]


def import_bookings(lines: list[str]) -> int:
    for line in lines:
        seat, guest = line.split(";")
        assign(seat, guest)
    return len(lines)


def partner_import(lines: list[str], done: Queue[int]) -> None:
    done.put(import_bookings(lines))


def web_booking(seat: str, guest: str) -> None:
    assign(seat, guest)
    log.info("%s books %s", guest, seat)


def board(seat: str, guest: str) -> None:
    owner = guest_of(seat)
    if owner != guest:
        log.error("seat %s of %s belongs to %s", seat, guest, owner)


def main() -> None:
    query("CREATE TABLE booking (seat TEXT PRIMARY KEY, guest TEXT)")
    exported = ["11A;lena", "12C;omar"]
    web_booking("12C", "nora")
    web_booking("14F", "paul")
    done: Queue[int] = Queue()
    importer = Process(target=partner_import, args=(exported, done), name="partner-import")
    importer.start()
    log.info("%d bookings imported", done.get(timeout=10))
    importer.join()
    for seat, guest in (("14F", "paul"), ("12C", "nora")):
        board(seat, guest)


if __name__ == "__main__":
    main()
