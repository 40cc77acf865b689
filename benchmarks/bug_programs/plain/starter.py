"""What the main thread did before it started others is no reason of what happens to them."""

import asyncio
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("office")


def serve(listener: socket.socket) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=answer, args=(client,), daemon=True, name="answer").start()


def answer(client: socket.socket) -> None:
    text = client.recv(100)
    if text == b"slow":
        time.sleep(1)
    client.sendall(b"answer to " + text)


def ask(port: int, text: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=0.4) as connection:
        connection.sendall(text)
        return connection.recv(100)


def client(port: int) -> None:
    try:
        ask(port, b"slow")
    except TimeoutError:
        log.error("no answer in time")


async def print_document(printer: asyncio.Lock, number: int) -> None:
    asked = time.monotonic()
    async with printer:
        if time.monotonic() - asked > 0.3:
            log.error("document %d came late", number)
        await asyncio.sleep(0.2)


async def travel() -> None:
    await asyncio.sleep(0.05)
    raise ValueError("flat tyre")


async def office() -> None:
    printer = asyncio.Lock()
    names = [f"document-{number}" for number in range(3)]
    await asyncio.gather(*(asyncio.create_task(print_document(printer, n), name=names[n]) for n in range(3)))
    try:
        await asyncio.create_task(travel(), name="travel")
    except ValueError:
        log.error("no trip today")


def main() -> None:
    with ThreadPoolExecutor(1) as pool:
        log.info("%d hours", pool.submit(sum, [4, 4]).result())
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    threading.Thread(target=serve, args=(listener,), daemon=True, name="server").start()
    ask(port, b"quick")
    thread = threading.Thread(target=client, args=(port,), name="client")
    thread.start()
    thread.join()
    asyncio.run(office())


main()
