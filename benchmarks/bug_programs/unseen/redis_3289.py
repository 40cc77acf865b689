"""A pipeline is collected while its own thread holds the pool's lock: redis/redis-py#3289 (also #3081, #1583).

The maintainers: `Pipeline.__del__` releases its connection and waits for the lock that `get_connection` holds below it.
The collection, which any allocation can start, is started by hand here.
"""

import gc
import logging
import os
import sys
import threading

import redis

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("shop")


class Connection(redis.Connection):
    def __init__(self, **options: object) -> None:
        gc.collect()
        super().__init__(**options)


def reserve(client: "redis.Redis[bytes]") -> None:
    pipeline = client.pipeline()
    pipeline.watch("stock")
    pipeline.order = [pipeline]


def serve(client: "redis.Redis[bytes]") -> None:
    reserve(client)
    client.set("served", 1)
    log.info("served")


pool = redis.ConnectionPool(connection_class=Connection, port=int(sys.argv[1]))
server = threading.Thread(target=serve, args=(redis.Redis(connection_pool=pool),), name="server", daemon=True)
gc.disable()
server.start()
server.join(2)
if server.is_alive():
    log.error("the order is never answered")
    os._exit(3)
