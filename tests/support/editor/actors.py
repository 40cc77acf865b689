"""A program of actors in theaters who talk to each other, for tests of live runs."""

CLASSES = """\
import itertools
import pathlib
import time


class Theater:
    def __init__(self, name):
        self.name = name


class Actor:
    def __init__(self, name, theater):
        self.name = name
        self.move(theater)

    def move(self, theater):
        self.theater = theater

    def tell(self, other):
        return f"{self.name} to {other.name}"


"""
"""The classes of the program; each test appends its own actions."""


_SPEC = """\
entity Theater is MODULE:Theater unique by this.name {
  when finish __init__(name) -> position(this);
}
entity Actor is MODULE:Actor unique by this.name {
  when finish move(theater) -> position(this, theater);
  when start tell(other) -> communication(this, other);
}
"""


def spec_of(module: str) -> str:
    return _SPEC.replace("MODULE", module)
