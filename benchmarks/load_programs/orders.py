"""Orders pass through four steps, in four threads that share a ledger: PLANTED names a change."""

import os
import queue
import threading
import time

ORDERS, THREADS = 200, 4
CHANGE = os.environ.get("PLANTED", "")


def parse(number):
    total = 0
    for digit in range(9000):
        total += digit * number % 7
    return {"number": number, "lines": total % 9 + 1}


def check(order):
    total = 0
    for step in range(6000):
        total ^= step * order["lines"]
    order["checked"] = total >= 0


def price(order):
    total = 0
    for step in range(30_000 if CHANGE == "slower" else 25_000):
        total += step * order["lines"] % 5
    order["price"] = total


class Ledger:
    def __init__(self):
        self.entries = []
        self.lock = threading.Lock()

    def post(self, order):
        with self.lock:
            time.sleep(0.004 if CHANGE == "lock" else 0.002)
            self.entries.append(order["number"])


def handle(number, ledger):
    order = parse(number)
    check(order)
    if CHANGE == "call":
        check(order)
    price(order)
    ledger.post(order)


def work(numbers, ledger):
    while True:
        number = numbers.get()
        if number is None:
            return
        handle(number, ledger)


def main():
    numbers, ledger = queue.Queue(), Ledger()
    for number in [*range(ORDERS), *[None] * THREADS]:
        numbers.put(number)
    threads = [threading.Thread(target=work, args=(numbers, ledger), name=f"worker-{n}") for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
