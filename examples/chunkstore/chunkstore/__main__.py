"""One process of a cluster: `python -m chunkstore (meta | server | client) --name NAME --data DIR …`."""

import argparse
import asyncio
import json
import logging
import signal
from pathlib import Path

from chunkstore.client import WORK, Client
from chunkstore.index import VARIANTS
from chunkstore.meta import MetaServer
from chunkstore.server import ChunkServer

log = logging.getLogger("chunkstore.process")


async def run(options: argparse.Namespace) -> None:
    terminated = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, terminated.set)
    node = (options.name, options.data, options.generation)
    if options.role == "client":
        client = Client(*node)
        print(json.dumps(await WORK[options.work[0]](client, terminated, *options.work[1:])), flush=True)
        await client.stop()
    else:
        server = MetaServer(*node) if options.role == "meta" else ChunkServer(*node, options.variant)
        await server.start()
        log.info("%s is online", options.name)
        await terminated.wait()
        log.info("%s is going offline", options.name)
        await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=("meta", "server", "client"))
    parser.add_argument("--name", required=True, help="the name of this process in the cluster")
    parser.add_argument("--data", required=True, type=Path, help="the directory that the cluster shares")
    parser.add_argument("--generation", type=int, default=1, help="1 for the first process of that name, then 2, …")
    parser.add_argument(
        "--variant", choices=VARIANTS, default=VARIANTS[0], help="of a server: before or after a change"
    )
    parser.add_argument("--work", nargs="+", help=f"of a client: {', '.join(WORK)}, and what each needs")
    options = parser.parse_args()
    logging.basicConfig(
        filename=options.data / f"{options.name}.log",
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(filename)s:%(lineno)d %(message)s",
    )
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
