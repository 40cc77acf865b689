"""Heat in a plate: square cells, each an actor that knows nothing but its neighbours.

    python grid.py [--size 10] [--steps N] [--seconds 20]

The left edge is kept at 100 degrees, the right one at 0. In each step a cell tells its neighbours how warm it is, hears the
same from all of them, and takes the mean. In the end the warmth falls evenly from left to right.
"""

from __future__ import annotations

import argparse
import asyncio

HOT, COLD = 100.0, 0.0


class Cell:
    """`is_kept`: an edge's warmth stays as it is."""

    def __init__(self, plate: Plate, row: int, column: int, warmth: float, is_kept: bool) -> None:
        self.plate, self.name = plate, f"{row},{column}"
        self.warmth, self.is_kept = warmth, is_kept
        self.heard: dict[Cell, asyncio.Queue[float]] = {}

    def meet(self, neighbour: Cell) -> None:
        self.heard[neighbour] = asyncio.Queue()

    def hear(self, neighbour: Cell, warmth: float) -> None:
        self.heard[neighbour].put_nowait(warmth)

    async def live(self, steps: int, pause: float) -> None:
        for _ in range(steps):
            for neighbour in self.heard:
                neighbour.hear(self, self.warmth)
            told = [await queue.get() for queue in self.heard.values()]
            if not self.is_kept:
                self.warmth = sum(told) / len(told)
            await asyncio.sleep(pause)


class Plate:
    def __init__(self, size: int) -> None:
        self.size = size
        self.cells: dict[tuple[int, int], Cell] = {}

    def fill(self) -> None:
        last = self.size - 1
        for row in range(self.size):
            for column in range(self.size):
                warmth = HOT if column == 0 else COLD
                self.cells[row, column] = Cell(self, row, column, warmth, is_kept=column in (0, last))
        for (row, column), cell in self.cells.items():
            for place in ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)):
                if place in self.cells:
                    cell.meet(self.cells[place])

    async def settle(self, steps: int, pause: float) -> None:
        async with asyncio.TaskGroup() as cells:
            for cell in self.cells.values():
                cells.create_task(cell.live(steps, pause), name=f"cell {cell.name}")

    def error(self) -> float:
        """How far the warmest mistake is from an even fall."""
        even = [HOT + (COLD - HOT) * column / (self.size - 1) for column in range(self.size)]
        return max(abs(cell.warmth - even[column]) for (_, column), cell in self.cells.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10, help="cells of an edge, at least 2 (default: %(default)s)")
    parser.add_argument("--steps", type=int, help="default: enough for the answer, 2 * size * size")
    parser.add_argument("--seconds", type=float, default=0, help="spread the steps over so long (default: no pauses)")
    options = parser.parse_args()
    if options.size < 2:
        parser.error("a plate has at least 2 cells at an edge")
    steps = options.steps if options.steps is not None else 2 * options.size**2
    plate = Plate(options.size)
    plate.fill()
    asyncio.run(plate.settle(steps, options.seconds / max(1, steps)))
    row = (cell.warmth for (row, _), cell in plate.cells.items() if row == options.size // 2)
    print("the middle row:", *(f"{warmth:.0f}" for warmth in row))
    print("it falls evenly" if plate.error() < 1 else f"it is off by {plate.error():.0f} degrees: it needs more steps")


if __name__ == "__main__":
    main()
