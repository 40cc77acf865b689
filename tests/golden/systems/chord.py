"""Chord: nodes on a circle of 64 places, each with fingers; a lookup goes to the closest finger before the key."""

PLACES = 64


def between(low, place, high):
    """On the way round from just behind `low` up to `high`?"""
    return 0 < (place - low) % PLACES <= ((high - low) % PLACES or PLACES)


class Node:
    def __init__(self, address):
        self.address, self.fingers, self.successor = address, [], None

    def join(self, ring):
        self.successor = ring.owner(self.address + 1)
        self.fingers = [ring.owner(self.address + 2**bit) for bit in range(6)]

    def lookup(self, key):
        if between(self.address, key, self.successor.address):
            return self.successor
        return self.closest(key).lookup(key)

    def closest(self, key):
        return next((f for f in reversed(self.fingers) if between(self.address, f.address, key - 1)), self.successor)


class Ring:
    def __init__(self, addresses):
        self.nodes = [Node(address) for address in sorted(addresses)]
        for node in self.nodes:
            node.join(self)

    def owner(self, key):
        return next((node for node in self.nodes if node.address >= key % PLACES), self.nodes[0])


ring = Ring([1, 8, 14, 21, 32, 38, 42, 48, 51, 56])
for key in (54, 0, 10, 30, 63):
    ring.nodes[1].lookup(key)
