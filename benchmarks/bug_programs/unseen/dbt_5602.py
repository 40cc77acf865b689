"""A worker ends by an exception before `task_done`, and `join` waits for ever: dbt-labs/dbt-core#5602 (#4357)."""

import logging
import os
import queue
import sys
import threading

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("models")
MODELS = {"orders": ["customers"], "customers": [], "refunds": ["payments"]}


def build(model: str) -> None:
    for needed in MODELS[model]:
        log.info("%s needs %d more", needed, len(MODELS[needed]))


def work(jobs: "queue.Queue[str]") -> None:
    while True:
        model = jobs.get()
        build(model)
        jobs.task_done()


def give_up() -> None:
    log.error("the build does not end")
    os._exit(3)


def main() -> None:
    if "complete" in sys.argv:
        MODELS["payments"] = []
    alarm = threading.Timer(2, give_up)
    alarm.daemon = True
    alarm.start()
    jobs: queue.Queue[str] = queue.Queue()
    for model in MODELS:
        jobs.put(model)
    threading.Thread(target=work, args=(jobs,), name="builder", daemon=True).start()
    jobs.join()
    log.info("all models are built")


main()
