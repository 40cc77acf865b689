"""A lock is handed over on purpose, and waits run out as planned."""

import logging
import threading
import time

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("house")
gate = threading.Lock()
rooms = threading.Semaphore(2)


def porter() -> None:
    time.sleep(0.3)
    gate.release()


def visit() -> None:
    gate.acquire()
    log.info("the visitor came in")


def stay() -> None:
    rooms.acquire()


def together(*works: threading.Thread) -> None:
    for thread in works:
        thread.start()
    for thread in works:
        thread.join()


def main() -> None:
    gate.acquire()
    together(threading.Thread(target=porter, name="porter"), threading.Thread(target=visit, name="visitor"))
    ready = threading.Event()
    if not ready.wait(0.2):
        log.warning("nobody is ready, going on")
    together(*(threading.Thread(target=stay, name=f"guest-{number}") for number in (1, 2)))
    if not rooms.acquire(timeout=0.3):
        log.error("the house is full")
    open_up = threading.Event()
    threading.Timer(0.1, open_up.set).start()
    open_up.wait(2)
    log.error("the lamp is broken")


main()
