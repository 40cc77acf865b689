"""A deployment that took longer than its lock deletes the lock of the next deployment."""

import logging
import sys
import time
from multiprocessing import get_context
from multiprocessing.synchronize import Event

import redis

logging.basicConfig(level=logging.INFO, format="%(processName)s %(levelname)s %(message)s")
log = logging.getLogger("deploy")
LOCK = "lock:production"


class LockLost(Exception):
    """Raised when a deployment finds that it has no lock any more."""


class Deployment:
    def __init__(self, port: int, name: str) -> None:
        self.redis = redis.Redis(port=port, decode_responses=True)
        self.name = name

    def lock(self, seconds: float) -> bool:
        return bool(self.redis.set(LOCK, self.name, nx=True, px=int(seconds * 1000)))

    def unlock(self) -> None:
        self.redis.delete(LOCK)

    def holder(self) -> str | None:
        return self.redis.get(LOCK)

    def expire(self) -> None:
        while self.holder() == self.name:
            time.sleep(0.02)


def deploy_docs(port: int, late: Event, next_one: Event, unlocked: Event) -> None:
    docs = Deployment(port, "docs")
    docs.lock(0.2)
    docs.expire()  # it is still building
    late.set()
    next_one.wait(10)
    docs.unlock()
    unlocked.set()


def switch_traffic(web: Deployment) -> None:
    holder = web.holder()
    if holder != web.name:
        raise LockLost(f"the lock of {web.name} is held by {holder}")


def main() -> None:
    port = int(sys.argv[1])
    context = get_context("spawn")
    late, next_one, unlocked = context.Event(), context.Event(), context.Event()
    other = context.Process(target=deploy_docs, args=(port, late, next_one, unlocked), name="deploy-docs")
    other.start()
    late.wait(10)
    web = Deployment(port, "web")
    log.info("locked: %s", web.lock(60))
    next_one.set()
    unlocked.wait(10)
    try:
        switch_traffic(web)
    finally:
        other.join()


if __name__ == "__main__":
    main()
