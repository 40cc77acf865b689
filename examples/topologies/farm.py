"""A farmer and its workers: processes that fetch tasks when they have time, and bring back what they found.

    python farm.py [--size 6] [--tasks 48] [--seconds 20]

A task is a range of numbers; its answer is how many of them are prime. Below 100,000 there are 9,592.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from multiprocessing import Process, SimpleQueue


@dataclass
class Task:
    number: int
    low: int
    high: int
    primes: int | None = None


@dataclass
class Answer:
    worker: str
    task: Task


class Farmer:
    """Keeps no more tasks out than there are workers, so that the slow ones are not left with many."""

    def __init__(self, tasks: list[Task]) -> None:
        self.tasks = tasks
        self.field: SimpleQueue[Task | None] = SimpleQueue()
        self.barn: SimpleQueue[Answer] = SimpleQueue()

    def hand_out(self, task: Task) -> None:
        self.field.put(task)

    def bring_in(self, worker: str, task: Task) -> int:
        return task.primes or 0

    def farm(self, workers: int) -> int:
        primes = 0
        for number, task in enumerate(self.tasks):
            self.hand_out(task)
            if number >= workers:
                primes += self.fetch()
        primes += sum(self.fetch() for _ in self.tasks[:workers])
        for _ in range(workers):
            self.field.put(None)
        return primes

    def fetch(self) -> int:
        answer = self.barn.get()
        return self.bring_in(answer.worker, answer.task)


class Worker:
    def __init__(self, name: str, field: SimpleQueue[Task | None], barn: SimpleQueue[Answer]) -> None:
        self.name, self.field, self.barn = name, field, barn

    def work(self, pause: float) -> None:
        while task := self.field.get():
            self.take(task)
            time.sleep(pause)
            self.barn.put(Answer(self.name, task))

    def take(self, task: Task) -> None:
        task.primes = sum(map(is_prime, range(task.low, task.high)))


def is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def live(name: str, field: SimpleQueue[Task | None], barn: SimpleQueue[Answer], pause: float) -> None:
    """The life of a worker's process."""
    Worker(name, field, barn).work(pause)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=6, help="workers (default: %(default)s)")
    parser.add_argument("--tasks", type=int, default=48, help="how many there are (default: %(default)s)")
    parser.add_argument("--below", type=int, default=100_000, help="where to stop looking (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0, help="spread the tasks over so long (default: no pauses)")
    options = parser.parse_args()
    if options.size < 1 or options.tasks < 1:
        parser.error("there is at least one worker, and at least one task")
    bounds = [options.below * number // options.tasks for number in range(options.tasks + 1)]
    farmer = Farmer([Task(number, bounds[number], bounds[number + 1]) for number in range(options.tasks)])
    pause = options.seconds * options.size / options.tasks
    workers = [
        Process(target=live, args=(f"worker {number}", farmer.field, farmer.barn, pause), name=f"worker {number}")
        for number in range(1, options.size + 1)
    ]
    for worker in workers:
        worker.start()
    print(f"{farmer.farm(options.size)} primes below {options.below}")
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
