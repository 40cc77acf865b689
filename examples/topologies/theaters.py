"""Actors in theaters, which are processes, and a balancer that moves them from those with much work to those with little.

    python theaters.py [--size 12] [--theaters 3] [--laps 10] [--seconds 20]

The actors stand in a ring, and all begin in the first theater. Each sends its number round; everyone passes on what it hears,
and adds it up. Wherever they are and whenever they move, in the end each has heard the sum of all numbers once a lap. A message
for one who has moved is sent after it by the theater that it left.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.queues import Queue

FIRST = "theater 1"


@dataclass
class Actor:
    """It moves as it is pickled here and unpickled there. Its number is also how much work it is to hear a message."""

    number: int
    actors: int
    laps: int
    heard: int = 0
    sum: int = 0

    @property
    def after(self) -> int:
        return self.number % self.actors + 1

    @property
    def is_done(self) -> bool:
        return self.heard == self.actors * self.laps

    def hear(self, sender: int, number: int) -> Iterator[int]:
        """What it sends on: the number, until it is back where it began, and its own when a lap begins."""
        self.heard += 1
        self.sum += number
        if number != self.number:
            yield number
        if self.heard % self.actors == 0 and not self.is_done:
            yield self.number


@dataclass(frozen=True)
class Message:
    """`to` and `sender` are actors, wherever they are."""

    to: int
    sender: int
    number: int


@dataclass(frozen=True)
class Move:
    actor: int
    theater: str


@dataclass(frozen=True)
class Arrived:
    actor: int


@dataclass(frozen=True)
class Done:
    actor: int
    sum: int


class Theater:
    """`pause` is how long a unit of work takes."""

    def __init__(self, name: str, mail: dict[str, Queue[object]], office: Queue[object], pause: float) -> None:
        self.name, self.mail, self.office, self.pause = name, mail, office, pause
        self.actors: dict[int, Actor] = {}
        self.moved: dict[int, str] = {}

    def play(self) -> None:
        for mail in iter(self.mail[self.name].get, None):
            match mail:
                case Actor():
                    self.welcome(mail)
                case Move(actor, theater):
                    self.moved[actor] = theater
                    self.mail[theater].put(self.actors.pop(actor))
                case Message(to) if to in self.actors:
                    self.deliver(mail, self.actors[to])
                case Message(to):
                    self.mail[self.moved.get(to, FIRST)].put(mail)

    def welcome(self, actor: Actor) -> None:
        self.actors[actor.number] = actor
        self.office.put(Arrived(actor.number))

    def deliver(self, message: Message, actor: Actor) -> None:
        time.sleep(self.pause * actor.number)
        for number in actor.hear(message.sender, message.number):
            self.mail[self.name].put(Message(actor.after, actor.number, number))
        if actor.is_done:
            self.office.put(Done(actor.number, actor.sum))


def live(name: str, mail: dict[str, Queue[object]], office: Queue[object], pause: float) -> None:
    """The life of a theater's process."""
    Theater(name, mail, office, pause).play()


class Balancer:
    def __init__(self, mail: dict[str, Queue[object]], office: Queue[object], actors: int) -> None:
        self.mail, self.office = mail, office
        self.load: dict[str, list[int]] = {theater: [] for theater in mail}
        self.load[FIRST] = list(range(1, actors + 1))
        self.sums: dict[int, int] = {}

    def run(self, laps: int, pause: float) -> None:
        actors = list(self.load[FIRST])
        for number in actors:
            self.mail[FIRST].put(Actor(number, len(actors), laps))
        for number in actors:
            self.mail[FIRST].put(Message(number % len(actors) + 1, number, number))
            self.wait_for_arrival()
        while move := self.best_move():
            time.sleep(pause)
            self.move(*move)
        while len(self.sums) < len(actors):
            self.hear()

    def best_move(self) -> tuple[int, str, str] | None:
        """An actor, from where, and whereto, so that the difference gets smallest; none when no move makes it smaller."""
        most, least = (choose(self.load, key=lambda theater: sum(self.load[theater])) for choose in (max, min))
        gap = sum(self.load[most]) - sum(self.load[least])
        actor = min(self.load[most], key=lambda number: abs(gap - 2 * number))
        return (actor, most, least) if actor < gap else None

    def move(self, actor: int, source: str, target: str) -> None:
        print(f"actor {actor} moves from {source} to {target}")
        self.load[source].remove(actor)
        self.load[target].append(actor)
        self.mail[source].put(Move(actor, target))
        self.wait_for_arrival()

    def wait_for_arrival(self) -> None:
        while not isinstance(self.hear(), Arrived):
            pass

    def hear(self) -> object:
        message = self.office.get()
        if isinstance(message, Done):
            self.sums[message.actor] = message.sum
        return message


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=12, help="actors (default: %(default)s)")
    parser.add_argument("--theaters", type=int, default=3, help="processes (default: %(default)s)")
    parser.add_argument("--laps", type=int, default=10, help="how often each sends its number (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0, help="spread the work over so long (default: no pauses)")
    options = parser.parse_args()
    if min(options.size, options.theaters, options.laps) < 1:
        parser.error("there is at least one actor, one theater and one lap")
    mail: dict[str, Queue[object]] = {f"theater {n}": multiprocessing.Queue() for n in range(1, options.theaters + 1)}
    office: Queue[object] = multiprocessing.Queue()
    work = options.laps * options.size**2 * (options.size + 1) / 2
    pause = options.seconds * options.theaters / work
    theaters = [multiprocessing.Process(target=live, args=(name, mail, office, pause), name=name) for name in mail]
    for theater in theaters:
        theater.start()
    balancer = Balancer(mail, office, options.size)
    balancer.run(options.laps, options.seconds / 40)
    for queue in mail.values():
        queue.put(None)
    for theater in theaters:
        theater.join()
    sums = " or ".join(map(str, sorted(set(balancer.sums.values()))))
    print(f"work: {', '.join(f'{theater} {sum(load)}' for theater, load in balancer.load.items())}")
    print(f"{options.size} actors heard {sums} each, in {options.laps} laps")


if __name__ == "__main__":
    main()
