"""Divide and conquer: numbers are put in order by a tree of processes, each of which gives its halves to two others.

    python tree.py [--size 3] [--numbers 10000] [--seconds 20]

A leaf sorts what it is given; all others merge what their two children give back. A tree of depth 3 has 15 processes.
"""

from __future__ import annotations

import argparse
import heapq
import random
import time
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection


class Part:
    """A process of the tree. Its name says where it is: "t" is the root, "tlr" the right child of its left child."""

    def __init__(self, name: str, link: Connection, pause: float) -> None:
        self.name, self.parent = name, name[:-1] or None
        self.link, self.pause = link, pause

    def work(self, depth: int) -> None:
        numbers = self.take(self.link.recv())
        time.sleep(self.pause)
        self.give(self.divide(numbers, depth) if depth else sorted(numbers))

    def take(self, numbers: list[int]) -> list[int]:
        """From the parent."""
        return numbers

    def give(self, numbers: list[int]) -> None:
        """To the parent."""
        self.link.send(numbers)

    def divide(self, numbers: list[int], depth: int) -> list[int]:
        middle = len(numbers) // 2
        halves = {"l": numbers[:middle], "r": numbers[middle:]}
        links = [start(self.name + side, half, depth - 1, self.pause) for side, half in halves.items()]
        merged = list(heapq.merge(*(link.recv() for link in links)))
        time.sleep(self.pause)
        return merged


def start(name: str, numbers: list[int], depth: int, pause: float) -> Connection:
    """A process for these numbers; it sends them back in order."""
    here, there = Pipe()
    Process(target=live, args=(name, there, depth, pause), name=f"part {name}").start()
    there.close()
    here.send(numbers)
    return here


def live(name: str, link: Connection, depth: int, pause: float) -> None:
    Part(name, link, pause).work(depth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=3, help="depth: 3 are 15 processes (default: %(default)s)")
    parser.add_argument("--numbers", type=int, default=10000, help="how many to sort (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0, help="spread the work over so long (default: no pauses)")
    options = parser.parse_args()
    if not 0 <= options.size <= 7:
        parser.error("a size of 0 to 7 is 1 to 255 processes; more are too many")
    numbers = list(range(options.numbers))
    random.Random(7).shuffle(numbers)
    # Every level pauses on the way down, and all but the leaves on the way up.
    found = start("t", numbers, options.size, options.seconds / (2 * options.size + 1)).recv()
    print(f"{len(found)} numbers, {'in order' if found == sorted(numbers) else 'NOT in order'}")


if __name__ == "__main__":
    main()
