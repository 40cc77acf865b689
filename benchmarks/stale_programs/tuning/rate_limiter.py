"""A rate limiter starts a new window while a request is being counted, which writes the old count back."""

import logging
import threading

logging.basicConfig(level="INFO", format="%(levelname)s %(threadName)s: %(message)s")
log = logging.getLogger("limiter")


class Window:
    """How many requests a client may still send."""

    __slots__ = ("client", "limit", "used")

    def __init__(self, client, limit):
        self.client = client
        self.limit = limit
        self.used = 0

    def take(self, cost):
        if self.used >= self.limit:
            return False
        self.used += cost()
        return True

    def restart(self):
        self.used = 0


class Billing:
    """Tells what a request costs; a slow answer for large uploads."""

    def __init__(self):
        self.asked = threading.Event()
        self.answered = threading.Event()

    def of_upload(self):
        self.asked.set()
        self.answered.wait(5)
        return 1

    @staticmethod
    def of_read():
        return 1


def upload(window, billing):
    window.take(billing.of_upload)


def clock(window, billing):
    billing.asked.wait(5)
    window.restart()
    log.info("a new window for %s", window.client)
    billing.answered.set()


def main():
    window = Window("acme", limit=4)
    billing = Billing()
    for _ in range(3):
        window.take(billing.of_read)
    threads = [
        threading.Thread(target=upload, args=(window, billing), name="upload"),
        threading.Thread(target=clock, args=(window, billing), name="clock"),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not window.take(billing.of_read):
        log.warning("acme is refused in a new window")


main()
