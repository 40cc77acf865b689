"""The main thread ends while another goes on, and jobs cannot be submitted any more: agronholm/apscheduler#918, #632.

The maintainer: the main thread must not exit; at its end the interpreter shuts down all executors of threads.
"""

import logging
import sys
import threading
import time

from apscheduler.schedulers.background import BackgroundScheduler

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("weather")


def measure() -> None:
    log.info("measured")


def serve() -> None:
    for _ in range(15):
        time.sleep(0.1)


def main() -> None:
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_job(measure, "interval", seconds=0.5, id="measure")
    scheduler.start()
    server = threading.Thread(target=serve, name="web-server")
    server.start()
    if "join" in sys.argv:
        server.join()
        scheduler.shutdown()


main()
