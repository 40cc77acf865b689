"""Four processes answer searches that an asyncio program spreads over them: PLANTED names a change."""

import asyncio
import multiprocessing
import os

SEARCHES, SERVERS = 240, 4
CHANGE = os.environ.get("PLANTED", "")


def tokens(text):
    found = []
    for step in range(4000):
        found.append(text[step % len(text)])
    return found[:8]


def score(words):
    total = 0
    for step in range(24_000 if CHANGE == "slower" else 20_000):
        total += step * len(words) % 11
    return total


def look_up(text, *, is_slow):
    total = 0
    for step in range(36_000 if is_slow else 18_000):
        total ^= step * len(text)
    return total


def answer(text, *, is_slow):
    words = tokens(text)
    if CHANGE == "call":
        tokens(text)
    return look_up(text, is_slow=is_slow) + score(words)


def serve(connection, *, is_slow):
    while True:
        text = connection.recv()
        if text is None:
            return
        connection.send(answer(text, is_slow=is_slow))


class Client:
    def __init__(self, connections):
        self.connections = connections
        self.locks = [asyncio.Lock() for _ in connections]
        self.answers = []

    async def ask(self, number):
        place = number % len(self.connections)
        async with self.locks[place]:
            connection = self.connections[place]
            connection.send(f"search {number}")
            self.answers.append(await asyncio.to_thread(connection.recv))


async def ask_all(connections):
    client = Client(connections)
    await asyncio.gather(*(client.ask(number) for number in range(SEARCHES)))
    for connection in connections:
        connection.send(None)


def main():
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(SERVERS)]
    servers = [
        context.Process(
            target=serve,
            args=(there,),
            kwargs={"is_slow": CHANGE == "server" and n == 2},
            name=f"server-{n}",
        )
        for n, (_, there) in enumerate(pipes)
    ]
    for server in servers:
        server.start()
    asyncio.run(ask_all([here for here, _ in pipes]))
    for server in servers:
        server.join()


if __name__ == "__main__":
    main()
