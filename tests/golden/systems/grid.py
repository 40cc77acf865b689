"""Cells of a grid that tell their neighbours their values, as a simulation of heat does."""


class Cell:
    def __init__(self, grid, row, column):
        self.grid, self.place = grid, (row, column)
        self.value, self.heard = row * 10 + column, []

    def hear(self, neighbour):
        self.heard.append(neighbour.value)

    def settle(self):
        self.value = sum(self.heard) / len(self.heard)


class Grid:
    def __init__(self, rows, columns):
        self.cells = {(row, column): Cell(self, row, column) for row in range(rows) for column in range(columns)}

    def step(self):
        for (row, column), cell in self.cells.items():
            for place in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                if place in self.cells:
                    cell.hear(self.cells[place])
        for cell in self.cells.values():
            cell.settle()


Grid(3, 4).step()
