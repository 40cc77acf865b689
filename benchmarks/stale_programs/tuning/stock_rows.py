"""Two processes read the stock of an article and write what is left of it: the second one overwrites the first sale."""

import logging
import multiprocessing as mp
import sqlite3

logging.basicConfig(level=logging.INFO, format="%(processName)s %(levelname)s %(message)s")
log = logging.getLogger("stock")
FILE = "stock.db"


def connect() -> sqlite3.Connection:
    return sqlite3.connect(FILE, isolation_level=None)


def left_of(article: str) -> int:
    with connect() as database:
        return database.execute("SELECT pieces FROM stock WHERE article = ?", (article,)).fetchone()[0]


def set_left(article: str, pieces: int) -> None:
    with connect() as database:
        database.execute("UPDATE stock SET pieces = ? WHERE article = ?", (pieces, article))


def sell_at_till(article, both_have_read, till_is_done) -> None:
    pieces = left_of(article)
    both_have_read.wait(10)
    set_left(article, pieces - 3)
    till_is_done.set()


def sell_online(article, both_have_read, till_is_done) -> None:
    pieces = left_of(article)
    both_have_read.wait(10)
    till_is_done.wait(10)
    set_left(article, pieces - 1)


def take_stock(article: str, counted: int) -> None:
    recorded = left_of(article)
    if recorded != counted:
        log.error("stock of %s is %d but %d are on the shelf", article, recorded, counted)


def main() -> None:
    with connect() as database:
        database.execute("CREATE TABLE stock (article TEXT PRIMARY KEY, pieces INTEGER)")
        database.execute("INSERT INTO stock VALUES ('teapot', 10), ('cup', 40)")
    context = mp.get_context("spawn")
    shared = ("teapot", context.Barrier(2), context.Event())
    sellers = [context.Process(target=sell, args=shared, name=name)
               for sell, name in ((sell_at_till, "till"), (sell_online, "online"))]  # fmt: skip
    for seller in sellers:
        seller.start()
    for seller in sellers:
        seller.join()
    take_stock("teapot", 6)


if __name__ == "__main__":
    main()
