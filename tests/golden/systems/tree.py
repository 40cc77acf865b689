"""A recursive tree: each part is in its parent, and gone when it is summed up; one of them cannot be."""


class Part:
    def __init__(self, name, parent, depth):
        self.name, self.parent = name, parent
        self.children = [Part(name + side, self, depth - 1) for side in "lr"] if depth else []

    def collapse(self):
        total = 1 + sum([child.collapse() for child in self.children])
        if self.name == "t":
            raise OverflowError(total)
        return total


try:
    Part("t", None, 3).collapse()
except OverflowError as error:
    print(error)
