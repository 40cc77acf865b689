"""A sum over all nodes of a hypercube, each a process, linked by pipes to the ones whose number differs in one bit.

    python hypercube.py [--size 5] [--seconds 20]

In round d every node exchanges what it knows with its neighbour in dimension d. After as many rounds as there are dimensions
each knows the whole sum: of 32 nodes after 5 rounds, where a ring would need 31.
"""

from __future__ import annotations

import argparse
import time
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection


class Node:
    """`links` has the pipe to the neighbour in each dimension."""

    def __init__(self, number: int, links: dict[int, Connection]) -> None:
        self.number, self.links = number, links
        self.sum = number

    def reduce(self, pause: float) -> None:
        for dimension, link in self.links.items():
            link.send(self.sum)
            self.hear(self.number ^ 1 << dimension, link.recv())
            time.sleep(pause)

    def hear(self, neighbour: int, value: int) -> None:
        self.sum += value


def live(number: int, links: dict[int, Connection], pause: float, report: Connection) -> None:
    """The life of a node's process."""
    node = Node(number, links)
    node.reduce(pause)
    report.send((number, node.sum))


def run(dimensions: int, pause: float) -> dict[int, int]:
    """What each node knows in the end."""
    links: dict[int, dict[int, Connection]] = {number: {} for number in range(1 << dimensions)}
    for dimension in range(dimensions):
        for number, mine in links.items():
            neighbour = number ^ 1 << dimension
            if number < neighbour:
                mine[dimension], links[neighbour][dimension] = Pipe()
    # A short message is written whole, so that all nodes may share one pipe.
    receiver, sender = Pipe(duplex=False)
    nodes = [
        Process(target=live, args=(number, mine, pause, sender), name=f"node {number}")
        for number, mine in links.items()
    ]
    for node in nodes:
        node.start()
    told = dict(receiver.recv() for _ in nodes)
    for node in nodes:
        node.join()
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=5, help="dimensions: 5 are 32 processes (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0, help="spread the rounds over so long (default: no pauses)")
    options = parser.parse_args()
    if not 0 <= options.size <= 8:
        parser.error("a size of 0 to 8 is 1 to 256 processes; more are too many")
    told = run(options.size, options.seconds / max(1, options.size))
    print(f"{len(told)} nodes know the sum {' and '.join(map(str, sorted(set(told.values()))))}")


if __name__ == "__main__":
    main()
