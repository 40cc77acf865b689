"""A slow refresh in one process stores an access token that is older than the one that another process has stored."""

import logging
import multiprocessing
import sys

import redis

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("tokens")


class Tokens:
    def __init__(self, port: int) -> None:
        self.server = redis.Redis(port=port, decode_responses=True)

    def store(self, service: str, token: str) -> None:
        self.server.set(f"token:{service}", token)

    def load(self, service: str) -> str | None:
        return self.server.get(f"token:{service}")

    def issue(self) -> int:
        return int(self.server.incr("tokens:issued"))


def refresh(tokens: Tokens, service: str, issued: int) -> None:
    tokens.store(service, f"{service}-{issued}")


def refresh_slowly(port: int, issued, stored) -> None:
    tokens = Tokens(port)
    number = tokens.issue()
    issued.set()
    stored.wait(10)
    refresh(tokens, "mail", number)


def refresh_quickly(port: int, issued, stored) -> None:
    tokens = Tokens(port)
    issued.wait(10)
    refresh(tokens, "mail", tokens.issue())
    stored.set()


def send_mail(tokens: Tokens) -> None:
    token = tokens.load("mail")
    newest = tokens.server.get("tokens:issued")
    if token != f"mail-{newest}":
        log.error("mail was refused with the old token %s", token)


def main() -> None:
    port = int(sys.argv[1])
    context = multiprocessing.get_context("spawn")
    issued, stored = context.Event(), context.Event()
    workers = [
        context.Process(target=refresh_slowly, args=(port, issued, stored), name="refresher-a"),
        context.Process(target=refresh_quickly, args=(port, issued, stored), name="refresher-b"),
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    send_mail(Tokens(port))


if __name__ == "__main__":
    main()
