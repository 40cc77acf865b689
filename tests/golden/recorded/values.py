"""Values of all sorts, some of which cannot be told without running the program's own code."""

from dataclasses import dataclass


class Loud:
    """Its code would show if it ran."""

    def __init__(self, name):
        self.name = name

    @property
    def shout(self):
        return self.name.upper()

    def __len__(self):
        raise RuntimeError("len")

    def __repr__(self):
        raise RuntimeError("repr")

    def greet(self, whom):
        return f"{self.name} greets {whom}"


@dataclass(frozen=True)
class Size:
    width: int
    height: int


def look(loud, size, options, number):
    return number


def tick(number):
    return number


def main():
    options = {"trace": True, "levels": ["a", "b"], "text": "x" * 100}
    ann, bob = Loud("ann"), Loud("bob")
    look(ann, Size(3, 4), options, 0)
    look(bob, Size(5, 6), {}, 10)
    for number in range(6):
        tick(number)


if __name__ == "__main__":
    main()
