"""A watchdog puts a job back into the list of waiting jobs although a worker has it, and it runs twice."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")


@dataclass
class Job:
    number: int
    recipient: str
    runs: int = 0


@dataclass
class Jobs:
    waiting: list[Job] = field(default_factory=list)
    taken: dict[int, Job] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def submit(self, job: Job) -> None:
        with self.lock:
            self.waiting.append(job)

    def take(self) -> Job | None:
        with self.lock:
            if not self.waiting:
                return None
            job = self.waiting.pop(0)
            self.taken[job.number] = job
            return job

    def give_back(self, job: Job) -> None:
        with self.lock:
            self.waiting.append(job)


class AlreadyPaid(Exception):
    """Raised before money is sent a second time."""


def pay(job: Job, slow: threading.Event | None = None) -> None:
    if job.runs:
        raise AlreadyPaid(f"job {job.number} pays {job.recipient} again")
    if slow is not None:
        slow.wait(5)
    job.runs += 1


def first_worker(jobs: Jobs, busy: threading.Event, checked: threading.Event) -> None:
    job = jobs.take()
    assert job is not None
    busy.set()
    pay(job, checked)


def watch(jobs: Jobs, busy: threading.Event, checked: threading.Event) -> None:
    busy.wait(5)
    for job in list(jobs.taken.values()):
        if not job.runs:
            jobs.give_back(job)
    checked.set()


def main() -> None:
    jobs = Jobs()
    jobs.submit(Job(7, "Ada"))
    busy, checked = threading.Event(), threading.Event()
    worker = threading.Thread(target=first_worker, args=(jobs, busy, checked), name="worker-1")
    watchdog = threading.Thread(target=watch, args=(jobs, busy, checked), name="watchdog")
    worker.start()
    watchdog.start()
    worker.join()
    watchdog.join()
    while (job := jobs.take()) is not None:
        try:
            pay(job)
        except AlreadyPaid:
            logging.exception("payments stopped")


if __name__ == "__main__":
    main()
