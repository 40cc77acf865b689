"""The ring of Josephus: people stand in a circle, and every third leaves it, until one is left.

    python josephus.py [--size 41] [--every 3] [--seconds 20]

Nobody sees the circle: each is an actor with a mailbox, knows who stands on either side, and counts when it is told to. Who is
hit tells both sides of each other and is gone. Of 41, says the legend, the 31st is left.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """How many come before the one who is hit."""

    left: int


@dataclass(frozen=True)
class Beside:
    """Who stands on a side from now on: `before` or `after`."""

    side: str
    person: Person


class Person:
    """`left` has who has left the circle so far."""

    before: Person
    after: Person

    def __init__(self, number: int, left: list[int]) -> None:
        self.number, self.left = number, left
        self.mailbox: asyncio.Queue[Count | Beside] = asyncio.Queue()

    def stand_between(self, before: Person, after: Person) -> None:
        self.before, self.after = before, after

    def hear(self, sender: Person, message: Count | Beside) -> None:
        self.mailbox.put_nowait(message)

    async def live(self, every: int, pause: float) -> None:
        """Until this one leaves, or is the last."""
        while True:
            match await self.mailbox.get():
                case Beside("before", person):
                    self.before = person
                case Beside(_, person):
                    self.after = person
                case Count(_) if self.after is self:
                    self.left.append(self.number)
                    return
                case Count(0):
                    self.leave(every)
                    return
                case Count(left):
                    await asyncio.sleep(pause)
                    self.after.hear(self, Count(left - 1))

    def leave(self, every: int) -> None:
        self.left.append(self.number)
        # Each mailbox is in order: the next one knows who stands beside it before it counts.
        self.before.hear(self, Beside("after", self.after))
        self.after.hear(self, Beside("before", self.before))
        self.after.hear(self, Count(every - 1))


async def play(size: int, every: int, pause: float) -> list[int]:
    """Who leaves, in order; the last one is the one who stays."""
    left: list[int] = []
    circle = [Person(number, left) for number in range(1, size + 1)]
    for index, person in enumerate(circle):
        person.stand_between(circle[index - 1], circle[(index + 1) % size])
    async with asyncio.TaskGroup() as people:
        for person in circle:
            people.create_task(person.live(every, pause), name=f"person {person.number}")
        circle[0].hear(circle[-1], Count(every - 1))
    return left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=41, help="people in the circle (default: %(default)s)")
    parser.add_argument("--every", type=int, default=3, help="which one leaves (default: every %(default)srd)")
    parser.add_argument("--seconds", type=float, default=0, help="spread the count over so long (default: no pauses)")
    options = parser.parse_args()
    if options.size < 1 or options.every < 1:
        parser.error("there is at least one in a circle, and at least every first leaves it")
    *gone, last = asyncio.run(play(options.size, options.every, options.seconds / (options.size * options.every)))
    print("left the circle:", *gone)
    print(f"number {last} is the last")


if __name__ == "__main__":
    main()
