"""A process of its own: customers come one after the other, reserve a book and buy it."""

import json
import sys
import time
import urllib.request
from typing import Any

TITLES = ("Emma", "Dune", "Ulysses", "Middlemarch")


def post(address: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(address, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def shop(address: str, title: str, gift: bool) -> None:
    number = post(f"{address}/reserve", {"title": title})["number"]
    time.sleep(0.03)
    post(f"{address}/buy", {"number": number, "gift": gift})


def main() -> None:
    address, customers = sys.argv[1], int(sys.argv[2])
    for customer in range(customers):
        shop(address, TITLES[customer % 4], gift=customer % 20 == 10)


if __name__ == "__main__":
    main()
