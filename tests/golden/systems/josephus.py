"""The ring of Josephus: every third is counted out, until one is left."""


class Person:
    def __init__(self, number):
        self.number, self.next = number, None

    def count(self, left):
        """Hands the count on; who is hit leaves the ring."""
        if self.next is self:
            return self
        return self.next.count(3) if left == 1 else self.hand_on(left - 1)

    def hand_on(self, left):
        victim = self.next
        if left == 1:
            self.next = victim.leave()
            return self if self.next is self else self.next.count(3)
        return victim.hand_on(left - 1)

    def leave(self):
        return self.next


ring = [Person(number) for number in range(1, 8)]
for person, following in zip(ring, ring[1:] + ring[:1]):
    person.next = following
print(ring[0].count(3).number)
