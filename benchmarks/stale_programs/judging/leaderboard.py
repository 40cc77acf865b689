"""A recount in another process writes the points of all players that it read before the last game ended."""

import logging
import subprocess
import sys

import redis

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("games")


class Board:
    def __init__(self, port: str) -> None:
        self.server = redis.Redis(port=int(port), decode_responses=True)

    def points(self) -> dict[str, int]:
        return {player: int(points) for player, points in self.server.hgetall("points").items()}

    def of(self, player: str) -> int:
        return int(self.server.hget("points", player) or 0)

    def save(self, player: str, points: int) -> None:
        self.server.hset("points", player, points)

    def win(self, player: str, points: int) -> int:
        return int(self.server.hincrby("points", player, points))


def recount(board: Board) -> None:
    points = board.points()
    print("read", flush=True)
    sys.stdin.readline()
    for player, number in points.items():
        board.save(player, max(number, 0))


def show(board: Board, player: str, expected: int) -> None:
    points = board.of(player)
    if points != expected:
        log.error("%s has %d points and won %d", player, points, expected)


def main() -> None:
    if sys.argv[2:] == ["recount"]:
        return recount(Board(sys.argv[1]))
    board = Board(sys.argv[1])
    board.save("ida", 40)
    board.save("tom", 55)
    command = [sys.executable, __file__, sys.argv[1], "recount"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recounting:
        assert recounting.stdout is not None and recounting.stdin is not None
        recounting.stdout.readline()
        expected = board.win("ida", 25)
        recounting.stdin.write("go\n")
        recounting.stdin.close()
        recounting.wait()
    show(board, "ida", expected)


if __name__ == "__main__":
    main()
