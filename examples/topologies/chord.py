"""Chord: servers on a circle of places, where a key is kept by the first one at or behind its place.

    python chord.py [--size 45] [--lookups 60] [--seconds 20]

Nobody knows all nodes. One that joins asks any other who comes behind it; then all ask those next to them who is there, until
they agree. Each also finds its fingers, who are 1, 2, 4, 8 … places further. A lookup goes to the finger that is closest before
the key, which asks on, so that the way that is left is halved with every hop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

BITS = 10
PLACES = 1 << BITS
JSON = Any  # what `json` reads and writes


class Address(NamedTuple):
    place: int
    port: int


def between(low: int, place: int, high: int) -> bool:
    """On the way round from `low` to `high`, all round if they are the same?"""
    return 0 < (place - low) % PLACES < ((high - low) % PLACES or PLACES)


class Node:
    """`before` and `fingers[0]` are the neighbours on the circle, as far as it knows."""

    address: Address
    server: asyncio.Server
    before: Address

    def __init__(self, place: int) -> None:
        self.place = place
        self.fingers: list[Address] = []
        self.answers: dict[str, Callable[[JSON], Awaitable[JSON]]] = {
            "find": self.find,
            "look up": self.look_up,
            "meet": self.meet,
        }

    async def open(self) -> None:
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        self.address = Address(self.place, self.server.sockets[0].getsockname()[1])
        self.before, self.fingers = self.address, [self.address] * BITS

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question, about = json.loads(await reader.readline())
        writer.write(json.dumps(await self.answers[question](about)).encode() + b"\n")
        writer.close()

    async def ask(self, peer: Address, question: str, about: JSON) -> JSON:
        reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
        writer.write(json.dumps([question, about]).encode() + b"\n")
        found = json.loads(await reader.readline())
        writer.close()
        return found

    async def join(self, known: Address) -> None:
        self.fingers[0] = Address(*await self.ask(known, "find", self.place))

    async def find(self, key: int) -> Address:
        """Who keeps a key."""
        behind = self.fingers[0]
        if key == behind.place or between(self.place, key, behind.place):
            return behind
        return Address(*await self.ask(self.closest(key), "find", key))

    async def look_up(self, key: int) -> list[int]:
        """The way to who keeps a key, itself the last."""
        if key == self.place or between(self.before.place, key, self.place):
            return [self.place]
        return [self.place, *await self.ask(self.closest(key), "look up", key)]

    def closest(self, key: int) -> Address:
        """The last finger before a key, or the next node, where there is none."""
        before = (finger for finger in reversed(self.fingers) if between(self.place, finger.place, key))
        return next(before, self.fingers[0])

    async def meet(self, other: JSON) -> Address:
        """Hears of one who may come before this node; tells who did until then."""
        before, other = self.before, Address(*other)
        if between(before.place, other.place, self.place):
            self.before = other
        return before

    async def agree(self) -> bool:
        """Asks the one behind it who comes before that; was it this node already?"""
        before = Address(*await self.ask(self.fingers[0], "meet", self.address))
        if between(self.place, before.place, self.fingers[0].place):
            self.fingers[0] = before
        return before == self.address

    async def point(self) -> None:
        """Finds its fingers anew."""
        self.fingers = [await self.find((self.place + (1 << bit)) % PLACES) for bit in range(BITS)]


async def gather(nodes: list[Node]) -> None:
    """Makes a circle of them, in which each knows its fingers."""
    circle: list[Node] = []
    while len(circle) < len(nodes):
        # As many at once as there are already, so that none has to find its place among too many new ones.
        for node in nodes[len(circle) : 2 * len(circle) or 1]:
            await node.open()
            await node.join(nodes[0].address)
            circle.append(node)
        while not all(await asyncio.gather(*(node.agree() for node in circle))):
            pass
    for node in nodes:
        await node.point()


async def run(size: int, lookups: int, pause: float) -> tuple[int, int]:
    """How many lookups were right, and how many hops all took."""
    choose = random.Random(7)
    places = choose.sample(range(PLACES), size)
    nodes = [Node(place) for place in places]
    await gather(nodes)
    right = hops = 0
    for _ in range(lookups):
        key = choose.randrange(PLACES)
        way = await choose.choice(nodes).look_up(key)
        right += way[-1] == min(places, key=lambda place: (place - key) % PLACES)
        hops += len(way) - 1
        await asyncio.sleep(pause)
    for node in nodes:
        node.server.close()
    return right, hops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=45, help=f"nodes, at most {PLACES} (default: %(default)s)")
    parser.add_argument("--lookups", type=int, default=60, help="of any key, at any node (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0, help="spread the lookups over so long (default: no pauses)")
    options = parser.parse_args()
    if not 1 <= options.size <= PLACES:
        parser.error(f"there is room for 1 to {PLACES} nodes")
    right, hops = asyncio.run(run(options.size, options.lookups, options.seconds / max(1, options.lookups)))
    print(f"{right} of {options.lookups} lookups were right, after {hops} hops in all")


if __name__ == "__main__":
    main()
