"""A client connects while another thread goes through the set of clients: mopidy/mopidy#1993 (python-engineio#368 and more).

The maintainers iterate over a copy.
"""

import logging
import sys
import threading
import time

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("radio")


class Hub:
    def __init__(self) -> None:
        self.clients: set[str] = set()
        self.sent: list[tuple[str, str]] = []

    def connect(self, client: str) -> None:
        self.clients.add(client)

    def send(self, client: str, message: str) -> None:
        time.sleep(0.05)
        self.sent.append((client, message))

    def broadcast(self, message: str) -> None:
        for client in list(self.clients) if "copy" in sys.argv else self.clients:
            self.send(client, message)


def play(hub: Hub) -> None:
    for song in ("Yesterday", "Help"):
        try:
            hub.broadcast(song)
        except RuntimeError as error:
            log.error("%s is not announced to all: %s", song, error)
        time.sleep(0.1)


def listen(hub: Hub) -> None:
    time.sleep(0.12)
    hub.connect("phone")


def main() -> None:
    hub = Hub()
    for client in ("kitchen", "bath", "garage", "attic"):
        hub.connect(client)
    threads = [threading.Thread(target=work, args=(hub,), name=work.__name__) for work in (play, listen)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
