"""Functions that differ in what stands around them: decorators, classes and `async`."""

import asyncio
import functools


def route(path):
    def keep(function):
        @functools.wraps(function)
        def called(*arguments):
            return function(*arguments)

        return called

    return keep


class Node:
    def start(self):
        return self.name()

    def name(self):
        return "node"


class Server(Node):
    def name(self):
        return super().name() + "!"

    @property
    def full(self):
        return False

    def __repr__(self):
        return "server"


class Proxy(Server):
    def name(self):
        return "proxy"


class Other:
    def name(self):
        return "other"


@route("/")
def index(page):
    return plain(page)


def plain(page):
    return page


async def fetch(page):
    await asyncio.sleep(0)
    return plain(page)


def numbers():
    yield 1
    yield 2


def fails():
    raise ValueError("no")


def main():
    for each in (Server(), Proxy(), Other()):
        each.name()
    Server().full, repr(Server()), Server().start()
    index("home")
    asyncio.run(fetch("far"))
    list(numbers())
    try:
        fails()
    except ValueError:
        plain("near")


main()
