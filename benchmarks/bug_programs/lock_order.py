"""Two transfers lock two accounts in opposite orders: the textbook deadlock, with a time limit."""

import logging
import sys
import threading
import time

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("bank")


class Account:
    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.balance = 100
        self.lock = threading.Lock()


def transfer(source: Account, target: Account, amount: int) -> None:
    first, second = (source, target) if not ORDERED else sorted((source, target), key=lambda account: account.owner)
    with first.lock:
        time.sleep(0.05)
        if not second.lock.acquire(timeout=2):
            log.error("no transfer from %s: %s is locked", source.owner, second.owner)
            return
        source.balance -= amount
        target.balance += amount
        second.lock.release()
    log.info("%s paid", source.owner)


ORDERED = "ordered" in sys.argv
carol, dave = Account("carol"), Account("dave")
threads = [
    threading.Thread(target=transfer, args=(carol, dave, 10), name="rent"),
    threading.Thread(target=transfer, args=(dave, carol, 20), name="wages"),
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
