"""Balls that go from player to player; each is a process, which multiprocessing starts as the argument says."""

import logging
import multiprocessing
import sys

logging.basicConfig(level=logging.INFO, handlers=[logging.NullHandler()])
log = logging.getLogger(__name__)


class Ball:
    def __init__(self, colour):
        self.colour = colour


class Player:
    def __init__(self, name):
        self.name = name

    def catch(self, ball):
        log.info("caught %s", ball.colour)


def play(name, mine, following):
    player = Player(name)
    while ball := mine.get():
        player.catch(ball)
        following.put(ball)
    following.put(None)


def main(method):
    context = multiprocessing.get_context(method)
    queues = [context.SimpleQueue() for _ in range(4)]
    players = [
        context.Process(target=play, args=(name, queues[place], queues[place + 1])) for place, name in enumerate("abc")
    ]
    for player in players:
        player.start()
    for ball in (Ball("red"), Ball("blue"), None):
        queues[0].put(ball)
    while queues[3].get():
        pass
    for player in players:
        player.join()


if __name__ == "__main__":
    main(sys.argv[1])
