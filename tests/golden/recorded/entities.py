"""Objects that are made, moved, talk and go; methods told apart by what they annotate."""

from functools import singledispatchmethod


class Room:
    def __init__(self, name):
        self.name, self.people = name, {}


class Robot:
    def __init__(self, name, room):
        self.name, self.room, self.load = name, room, 0
        room.people[name] = self

    @singledispatchmethod
    def do(self, what):
        raise TypeError(what)

    @do.register
    def do_number(self, what: int):
        self.load += what

    @do.register
    def do_text(self, what: str):
        return what

    @do.register
    def do_list(self, what: list):
        for each in what:
            self.do(each)

    def do_what(self, what):
        return what

    def move(self, room):
        self.room.people.pop(self.name)
        self.room = room
        room.people[self.name] = self

    def tell(self, other, text):
        if other is None:
            raise LookupError("nobody")
        return text

    def stop(self):
        return self.room.people.pop(self.name, None)


class Fast(Robot):
    pass


def main():
    hall, cellar = Room("hall"), Room("cellar")
    ann, bob = Robot("ann", hall), Fast("bob", hall)
    ann.do([1, "go"])
    ann.do_what(3)
    ann.move(cellar)
    ann.tell(bob, "hello")
    try:
        bob.tell(None, "?")
    except LookupError:
        pass
    bob.stop()
    ann.stop()


if __name__ == "__main__":
    main()
