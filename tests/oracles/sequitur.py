"""Reference implementation of run-length Sequitur in Python.

Nodes are indices into columns. A rule is a ring of nodes that begins and ends at its *guard*; guards and freed nodes have
the exponent 0. Invariant: a digram is in the index under its left node, or that node is in `pending`; a rule that may have
become useless is in `loose`. When both lists are empty, the grammar has its two properties.
"""

from __future__ import annotations

from collections.abc import Sequence

Key = tuple[int, int, int, int]
Numbers = list[int]


class _Grammar:
    """A grammar. A symbol is a terminal (0 or above) or `~rule`."""

    def __init__(self) -> None:
        self.value: Numbers = []
        self.exponent: Numbers = []
        self.before: Numbers = []
        self.after: Numbers = []
        self.older: Numbers = []
        """The previous use of a node's rule; -1 if there is no earlier use."""
        self.newer: Numbers = []
        """The next use of a node's rule; -1 if there is no later use."""
        self.free: Numbers = []
        self.guard: Numbers = []
        """The guard of each rule; -1 for a removed rule."""
        self.uses: Numbers = []
        self.newest: Numbers = []
        """The latest use of each rule; -1 for an unused rule."""
        self.gone: Numbers = []
        """Numbers of removed rules."""
        self.index: dict[Key, int] = {}
        self.pending: Numbers = []
        self.loose: Numbers = []
        self.make_rule()

    def make(self, value: int, exponent: int) -> int:
        if self.free:
            node = self.free.pop()
            self.value[node], self.exponent[node] = value, exponent
        else:
            node = len(self.value)
            self.value.append(value)
            self.exponent.append(exponent)
            for column in (self.before, self.after, self.older, self.newer):
                column.append(-1)
        return node

    def make_rule(self) -> int:
        if self.gone:
            rule = self.gone.pop()
        else:
            rule = len(self.guard)
            for column in (self.guard, self.uses, self.newest):
                column.append(-1)
        guard = self.make(rule, 0)
        self.link(guard, guard)
        self.guard[rule], self.uses[rule], self.newest[rule] = guard, 0, -1
        return rule

    def link(self, left: int, right: int) -> None:
        self.after[left], self.before[right] = right, left

    def use(self, node: int) -> None:
        """Register a node as a use of its rule, if its value is a rule."""
        if self.value[node] < 0:
            rule = ~self.value[node]
            last = self.newest[rule]
            self.older[node], self.newer[node] = last, -1
            if last >= 0:
                self.newer[last] = node
            self.newest[rule] = node
            self.uses[rule] += 1

    def unuse(self, node: int) -> None:
        if self.value[node] < 0:
            rule = ~self.value[node]
            older, newer = self.older[node], self.newer[node]
            if older >= 0:
                self.newer[older] = newer
            if newer >= 0:
                self.older[newer] = older
            else:
                self.newest[rule] = older
            self.uses[rule] -= 1
            if self.uses[rule] == 1:
                self.loose.append(rule)

    def drop(self, node: int) -> None:
        self.unuse(node)
        self.exponent[node] = 0
        self.free.append(node)

    def key(self, left: int) -> Key:
        right = self.after[left]
        return self.value[left], self.exponent[left], self.value[right], self.exponent[right]

    def is_digram(self, left: int) -> bool:
        return bool(self.exponent[left] and self.exponent[self.after[left]])

    def forget(self, left: int) -> None:
        """Remove a digram that is about to change from the index."""
        if self.is_digram(left):
            key = self.key(left)
            if self.index.get(key) == left:
                del self.index[key]

    def settle(self, node: int) -> None:
        """Merge a new node with equal neighbours, and put its digrams into `pending`."""
        left, right = self.before[node], self.after[node]
        if self.exponent[left] and self.value[left] == self.value[node]:
            self.forget(self.before[left])
            self.forget(node)
            self.exponent[left] += self.exponent[node]
            self.link(left, right)
            self.drop(node)
            node = left
        if self.exponent[right] and self.value[right] == self.value[node]:
            self.forget(self.before[node])
            self.forget(right)
            self.exponent[node] += self.exponent[right]
            self.link(node, self.after[right])
            self.drop(right)
        left, right = self.before[node], self.after[node]
        self.pending.append(node)
        self.pending.append(left)
        if left == right and self.value[left]:
            self.loose.append(self.value[left])

    def append(self, terminal: int, exponent: int) -> None:
        node, guard = self.make(terminal, exponent), self.guard[0]
        self.link(self.before[guard], node)
        self.link(node, guard)
        self.settle(node)
        while self.loose or self.pending:
            if self.loose:
                self.tidy(self.loose.pop())
            else:
                self.check(self.pending.pop())

    def check(self, left: int) -> None:
        if not self.is_digram(left):
            return
        found = self.index.setdefault(self.key(left), left)
        if found == left:
            return
        if rule := self.is_whole(found):
            self.replace(left, rule)
        elif rule := self.is_whole(left):
            self.replace(found, rule)
            self.pending.append(left)
        else:
            rule = self.make_rule()
            right, guard = self.after[left], self.guard[rule]
            one, other = (
                self.make(self.value[left], self.exponent[left]),
                self.make(self.value[right], self.exponent[right]),
            )
            self.link(guard, one)
            self.link(one, other)
            self.link(other, guard)
            self.use(one)
            self.use(other)
            self.replace(found, rule)
            self.replace(left, rule)
            self.index[self.key(one)] = one

    def is_whole(self, left: int) -> int:
        """Return the rule that consists of a digram; 0 if there is no such rule, and for the whole sequence."""
        guard = self.before[left]
        return self.value[guard] if guard == self.after[self.after[left]] and not self.exponent[guard] else 0

    def replace(self, left: int, rule: int) -> None:
        right = self.after[left]
        for node in (self.before[left], left, right):
            self.forget(node)
        made = self.make(~rule, 1)
        self.link(self.before[left], made)
        self.link(made, self.after[right])
        self.drop(left)
        self.drop(right)
        self.use(made)
        self.settle(made)

    def tidy(self, rule: int) -> None:
        """Replace a rule of one symbol by that symbol, and a rule that is used once, without repetition, by its content."""
        guard = self.guard[rule]
        if guard < 0:
            return
        first, last = self.after[guard], self.before[guard]
        if first == last:
            self.spell(rule, self.value[first], self.exponent[first])
            self.drop(first)
        elif self.uses[rule] == 1 and self.exponent[self.newest[rule]] == 1:
            place = self.newest[rule]
            self.forget(self.before[place])
            self.forget(place)
            self.link(self.before[place], first)
            self.link(last, self.after[place])
            self.drop(place)
            self.settle(first)
            self.settle(last)
        else:
            return
        self.guard[rule] = -1
        self.exponent[guard] = 0
        self.free.append(guard)
        self.gone.append(rule)

    def spell(self, rule: int, value: int, exponent: int) -> None:
        while (node := self.newest[rule]) >= 0:
            self.forget(self.before[node])
            self.forget(node)
            self.unuse(node)
            self.value[node] = value
            self.exponent[node] *= exponent
            self.use(node)
            self.settle(node)

    def columns(self) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
        """Return the columns, with rules numbered by first use; see `clew.compare.patterns.sequitur.Grammar`."""
        number, order, start = {0: 0}, [0], [0]
        place = 0
        size: dict[int, int] = {}
        # (rule, node, where the rule began)
        stack = [(0, self.after[self.guard[0]], 0)]
        while stack:
            rule, node, began = stack.pop()
            while self.exponent[node]:
                value = self.value[node]
                if value >= 0:
                    place += self.exponent[node]
                elif ~value in size:
                    place += self.exponent[node] * size[~value]
                else:
                    stack.append((rule, node, began))
                    number[~value] = len(order)
                    order.append(~value)
                    start.append(place)
                    rule, node, began = ~value, self.after[self.guard[~value]], place
                    continue
                node = self.after[node]
            size[rule] = place - began
            # Return to the node that uses the rule; the rule's full length is added there.
            place = began
        first, symbol, exponent = [0], [], []
        for rule in order:
            node = self.after[self.guard[rule]]
            while self.exponent[node]:
                value = self.value[node]
                symbol.append(value if value >= 0 else ~number[~value])
                exponent.append(self.exponent[node])
                node = self.after[node]
            first.append(len(symbol))
        return first, symbol, exponent, start, [size[rule] for rule in order]


def infer(symbols: Sequence[int]) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
    """Return the columns of a grammar: `first`, `symbol`, `exponent`, `start`, `length`."""
    grammar = _Grammar()
    at, end = 0, len(symbols)
    while at < end:
        since, symbol = at, symbols[at]
        while at < end and symbols[at] == symbol:
            at += 1
        grammar.append(int(symbol), at - since)
    return grammar.columns()
