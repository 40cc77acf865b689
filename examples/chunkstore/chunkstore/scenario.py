"""The stories that this example tells: `python -m chunkstore.scenario STORY --data DIR`.

Each runs a cluster in DIR, prints a summary for people, and leaves one for programs in DIR/summary.json.
"""

import argparse
import json
import signal
import sys
from pathlib import Path

from chunkstore.cluster import Cluster, ClusterError
from chunkstore.counter import read_count
from chunkstore.index import VARIANTS
from chunkstore.meta import META
from chunkstore.replication import GROUP, PRIMARY, ReplicationLog, Write
from chunkstore.wire import JSON

CLIENTS = ("client-1", "client-2", "client-3")
FILES = 40
HISTORY = 40_000


def failed_write(data: Path) -> JSON:
    """A server that missed a deletion comes back and asks for the deleted chunk."""
    with Cluster(data) as cluster:
        cluster.start(META, *GROUP)
        start_load(cluster, CLIENTS, pause=0.02)
        chunk = cluster.run_client("client-4", "begin", "/victim")["chunk"]
        cluster.end("c3", signal.SIGTERM)
        told = cluster.run_client("client-5", "delete", "/victim")["told"]
        cluster.start("c3")
        cluster.run_client("client-6", "settle", "c3")
        acknowledged = sum(cluster.result(client, signal.SIGTERM)["acknowledged"] for client in CLIENTS)
    errors = [line for line in (data / f"{PRIMARY}.log").read_text().splitlines() if " ERROR " in line]
    print(f"/victim was chunk {chunk}; it was deleted while c3 was offline, and {' and '.join(told)} were told")
    print(f"c3 came back and asked for it; meanwhile {acknowledged} other chunks were written")
    print(*(f"{PRIMARY}.log: {line}" for line in errors), sep="\n")
    return {"chunk": chunk, "told": told, "errors": errors, "acknowledged": acknowledged}


def slow_job(data: Path, variant: str) -> JSON:
    """A job on servers with a long history, run by the code before or after a change."""
    with Cluster(data, variant) as cluster:
        for server in GROUP:
            (data / server).mkdir()
            history = (Write(f"old-{number:05}", deleted=True) for number in range(HISTORY))
            ReplicationLog(data / server / "replication.log").append(history)
        cluster.start(META, *GROUP)
        for client in CLIENTS:
            cluster.start_client(client, "job", str(FILES))
        results = {client: cluster.result(client) for client in CLIENTS}
        servers = cluster.run_client("client-4", "settle", *GROUP)
    seconds = max(result["seconds"] for result in results.values())
    print(f"{variant}: {FILES * len(CLIENTS)} files written and read in {seconds:.2f} s")
    for server, counters in servers.items():
        print(f"  {server}: {counters['lookups']} lookups in {counters['lookup_ns'] / 1e6:.1f} ms")
    digests = {client: result["digest"] for client, result in results.items()}
    return {"seconds": seconds, "digests": digests, "servers": servers}


def kill_primary(data: Path) -> JSON:
    """The primary is killed while clients write to it."""
    count_file = data / f"{PRIMARY}.count"
    with Cluster(data) as cluster:
        cluster.start(META, *GROUP)
        start_load(cluster, CLIENTS, pause=0)
        cluster.wait_until(lambda: read_count(count_file) >= 500, PRIMARY, "was well at work")
        cluster.end(PRIMARY, signal.SIGKILL)
        acknowledged = sum(cluster.result(client)["acknowledged"] for client in CLIENTS)
    lookups = read_count(count_file)
    print(f"{PRIMARY} was killed in the middle of a load; {acknowledged} chunks had been acknowledged")
    print(f"ChunkIndex.lookup had been called {lookups} times in it")
    return {"lookups": lookups, "acknowledged": acknowledged}


def start_load(cluster: Cluster, clients: tuple[str, ...], pause: float) -> None:
    """Returns when all clients are at work."""
    for client in clients:
        cluster.start_client(client, "load", str(pause))
    for client in clients:
        cluster.first_line(client)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("story", choices=("failed-write", "slow-job", "kill-primary"))
    parser.add_argument("--data", required=True, type=Path, help="a new or empty directory")
    parser.add_argument("--variant", choices=VARIANTS, help="of slow-job: only the code before or after the change")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # an exception, so that the cluster is stopped
    try:
        if options.story == "failed-write":
            summary = failed_write(options.data)
        elif options.story == "kill-primary":
            summary = kill_primary(options.data)
        else:
            variants = [options.variant] if options.variant else VARIANTS
            summary = {variant: slow_job(options.data / variant, variant) for variant in variants}
    except ClusterError as problem:
        sys.exit(f"chunkstore: {problem}")
    (options.data / "summary.json").write_text(json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()
