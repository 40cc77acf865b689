"""A sum over all nodes of a hypercube: in round d each exchanges with its neighbour in dimension d."""


class Node:
    def __init__(self, number):
        self.number, self.sum = number, number

    def receive(self, neighbour, value):
        self.sum += value


nodes = [Node(number) for number in range(8)]
for dimension in range(3):
    values = [node.sum for node in nodes]
    for node in nodes:
        node.receive(nodes[node.number ^ 1 << dimension], values[node.number ^ 1 << dimension])
print({node.sum for node in nodes})
