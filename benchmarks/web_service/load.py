"""The load: healthy requests of every kind with a few per cent that fail, each for a cause that is known beforehand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

from web_service.faults import FAULTS

CONNECTIONS = 8
APART = 24
"""The number of requests between one that writes a wrong value and the one that reads it."""


@dataclass(frozen=True)
class Sent:
    """A request of the load."""

    order: int
    method: str
    path: str
    fault: str = ""
    """What makes this request fail, the name of one of `FAULTS`; "" for a healthy one."""
    after: int = -1
    """The request that must have been answered before this one is sent."""
    during: int = -1
    """The request that must have been sent a moment before."""


@dataclass(frozen=True)
class Answered:
    sent: Sent
    status: int


def planned(number: int, faulty: int, seed: int = 22) -> list[Sent]:
    """Return `number` requests, of which `faulty` fail, each fault as often as the others; `seed` chooses the first fault."""
    chance = random.Random(seed)
    units = [unit for at in range(faulty) for unit in _failing(FAULTS[(seed + at) % len(FAULTS)].name)]
    while (count := sum(len(unit) for unit in units)) < number:
        units.append(_healthy(chance, number - count))
    chance.shuffle(units)
    return _numbered(units)


Unit = list[tuple[str, str, str, str]]
"""Requests that belong together: method, path, fault, and how each relates to the one before ("", "after", "during").
In a path, `{order}` is the number of its unit."""


def _failing(fault: str) -> list[Unit]:
    match fault:
        case "upstream answers 500":
            return [[("GET", "/stock/none-{order}", fault, "")]]
        case "upstream is slow":
            return [[("GET", "/availability/bulk-{order}", fault, "")]]
        case "row is missing":
            return [[("GET", "/items/gone-{order}", fault, "")]]
        case "cached value is garbled":
            return [[("PUT", "/imports/odd-{order}?cents=12", "", ""), ("GET", "/offers/odd-{order}", fault, "after")]]
        case "cached value is wrong":
            return [[("PUT", "/prices/free-{order}?cents=-5", "", ""), ("GET", "/offers/free-{order}", fault, "after")]]
        case "pool is held":
            return [[("GET", "/reports/sku-3?pause=1.0", "", "reports"), ("GET", "/reports/sku-4", fault, "during")]]
    return [[("POST", "/ledger/sku-3?pause=1.0", "", "ledger"), ("POST", "/ledger/sku-4", fault, "during")]]


def _healthy(chance: random.Random, room: int) -> Unit:
    sku = f"sku-{chance.randrange(200)}"
    kind = chance.choices(
        ("item", "offer", "stock", "availability", "report", "ledger", "duet"), (40, 20, 15, 15, 4, 4, 2)
    )[0]
    if room < 2 or kind == "item":
        return [("GET", f"/items/{sku}", "", "")]
    match kind:
        case "offer":
            return [("PUT", f"/prices/{sku}?cents=250", "", ""), ("GET", f"/offers/{sku}", "", "after")]
        case "stock":
            return [("GET", f"/stock/{sku}", "", "")]
        case "availability":
            return [("GET", f"/availability/{sku}", "", "")]
        case "report":
            return [("GET", f"/reports/{sku}", "", "reports")]
        case "ledger":
            return [("POST", f"/ledger/{sku}", "", "ledger")]
    # The second waits for what the first holds, and gets it in time.
    return [("GET", f"/reports/{sku}?pause=0.03", "", "reports"), ("GET", "/reports/sku-1", "", "during")]


def _numbered(units: Sequence[Unit]) -> list[Sent]:
    """Return the requests in the order in which they are sent, with those that must be sent later moved behind."""
    found: list[Sent] = []
    later: list[tuple[int, Sent]] = []
    last = {"reports": -1, "ledger": -1}
    order = 0
    for unit in units:
        while later and later[0][0] <= len(found):
            found.append(later.pop(0)[1])
        before = -1
        name = order
        for method, path, fault, relation in unit:
            sign = "&" if "?" in path else "?"
            after = before if relation == "after" else last.get(relation, -1)
            during = before if relation == "during" else -1
            sent = Sent(order, method, f"{path.format(order=name)}{sign}order={order}", fault, after, during)
            if relation in last:
                last[relation] = order
            before = order
            order += 1
            if relation == "after":
                later.append((len(found) + APART, sent))
            else:
                found.append(sent)
    return found + [sent for _, sent in later]


class Load:
    """Sends requests to a port over a few kept connections, in their order, each as soon as a connection is free."""

    def __init__(self, port: int, requests: Sequence[Sent]) -> None:
        self.port = port
        self.waiting = list(requests)[::-1]
        self.answered: list[Answered] = []
        self._begun = {sent.order: asyncio.Event() for sent in requests}
        self._done = {sent.order: asyncio.Event() for sent in requests}

    async def run(self) -> list[Answered]:
        await asyncio.gather(*(self._connection() for _ in range(CONNECTIONS)))
        return sorted(self.answered, key=lambda answer: answer.sent.order)

    async def _connection(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while self.waiting:
            sent = self.waiting.pop()
            if sent.after in self._done:
                await self._done[sent.after].wait()
            if sent.during in self._begun:
                await self._begun[sent.during].wait()
                await asyncio.sleep(0.02)
            writer.write(f"{sent.method} {sent.path} HTTP/1.1\r\nhost: shop\r\ncontent-length: 0\r\n\r\n".encode())
            self._begun[sent.order].set()
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            self.answered.append(Answered(sent, int(head.split(b" ", 2)[1])))
            self._done[sent.order].set()
        writer.close()
        await writer.wait_closed()


def send(port: int, requests: Sequence[Sent]) -> list[Answered]:
    """Send requests and return their answers in the order of `requests`."""
    return asyncio.run(Load(port, requests).run())


def get(port: int, path: str) -> str:
    """Return the body of one GET over a connection of its own."""

    async def ask() -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n\r\n")[2].decode()

    return asyncio.run(ask())
