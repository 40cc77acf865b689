"""A farmer gives tasks to workers, who fetch them when they have time."""

import queue
import threading


class Task:
    def __init__(self, number):
        self.number = number


class Worker(threading.Thread):
    def __init__(self, farmer, name):
        super().__init__(name=name)
        self.farmer, self.load = farmer, []

    def run(self):
        while True:
            task = self.farmer.tasks.get()
            if task is None:
                return
            self.take(task)
            self.finish(task)

    def take(self, task):
        self.load.append(task)

    def finish(self, task):
        self.load.remove(task)


class Farmer:
    def __init__(self):
        self.tasks = queue.Queue()

    def hand_out(self, task):
        self.tasks.put(task)


farmer = Farmer()
workers = [Worker(farmer, f"worker {number}") for number in range(3)]
for worker in workers:
    worker.start()
for number in range(12):
    farmer.hand_out(Task(number))
for _ in workers:
    farmer.tasks.put(None)
for worker in workers:
    worker.join()
