"""A backup pauses all schedulers by an attribute of their class; when it fails, it leaves them paused."""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor

logging.basicConfig(level="INFO", format="%(asctime)s %(threadName)s %(levelname)s %(message)s")
log = logging.getLogger("reports")


class Scheduler:
    paused = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.done: list[str] = []

    @classmethod
    def pause(cls) -> None:
        cls.paused = True

    @classmethod
    def unpause(cls) -> None:
        cls.paused = False

    def run(self, report: str) -> bool:
        if self.paused:
            return False
        self.done.append(report)
        return True


def copy_files(free_bytes: int) -> None:
    if free_bytes < 1 << 30:
        raise OSError("no space left on the backup disk")


def back_up(free_bytes: int) -> None:
    Scheduler.pause()
    copy_files(free_bytes)
    Scheduler.unpause()


def tidy_up() -> None:
    threading.Event().wait(0.01)


def main() -> None:
    sales = Scheduler("sales")
    sales.run("monday")
    with ThreadPoolExecutor(1, thread_name_prefix="housekeeping") as pool:
        jobs: list[Future[None]] = [pool.submit(tidy_up), pool.submit(back_up, 1000), pool.submit(tidy_up)]
    log.info("%d of %d jobs went well", sum(job.exception() is None for job in jobs), len(jobs))
    if not sales.run("tuesday"):
        log.error("the report of tuesday was skipped")


if __name__ == "__main__":
    main()
