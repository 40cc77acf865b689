"""What an editor waits for: the language server on a run of 20 million events, as `clew lsp` answers over its pipes.

The run is recorded from a real program (`server_data.py`), once for a folder. Times are from the request's last byte to the
answer's, medians and 95th percentiles of many; the peer of a figure is a scan of the run's events with numpy, as a server
without tables of its own would make at every request. What the server keeps beside the run's store is removed before, so that
the first answer of a kind is one of a new run. Memory is the server's after each kind, what is mapped included.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
from synthetic.server import record

import clew
from clew.graph.store import profile_cache, timeline_cache
from clew.records.format.event import Kind

EXAMPLES = """examples:
  python benchmarks/server.py --events 2M                     a smaller run, a minute
  python benchmarks/server.py --folder /var/tmp/clew-20M      20 million events, recorded once and kept
"""
ROUNDS = 100
STARTS = 5
ASKED_MS = {"lenses": 100, "hover": 50, "definition": 50, "walk": 50, "slice": 500, "cancel": 100}
READY_MS, MEMORY_GB = 1000, 1.5
VIEWS = frozenset({"slice", "critical path", "timeline", "aggregate"})
"""Of which the first answer takes longer than all others, and a few are asked for."""


class Client:
    """JSON-RPC over the pipes of a server of its own; requests may overlap."""

    def __init__(self, workspace: Path) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clew", "lsp"], cwd=workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Queue[dict[str, Any]]] = {}
        self._writing = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        capabilities = {"textDocument": {"codeLens": {}, "hover": {"contentFormat": ["markdown"]}, "inlayHint": {}}}
        params = {"processId": None, "rootUri": workspace.as_uri(), "capabilities": capabilities}
        self.ask("initialize", params | {"initializationOptions": {"panel": True, "workspace": str(workspace)}})
        self.ready_ms = (time.perf_counter() - began) * 1e3
        self.tell("initialized", {})

    def begin(self, method: str, params: Any) -> int:
        number = next(self._numbers)
        self._waiting[number] = Queue()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def end(self, number: int) -> dict[str, Any]:
        answer = self._waiting[number].get(timeout=600)
        del self._waiting[number]
        return answer

    def ask(self, method: str, params: Any) -> Any:
        answer = self.end(self.begin(method, params))
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def tell(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def open(self, path: Path, language: str) -> str:
        item = {"uri": path.as_uri(), "languageId": language, "version": 1, "text": path.read_text()}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return path.as_uri()

    def memory(self) -> tuple[float, float]:
        """GB: resident, and of that what is the server's own and no file's."""
        words = dict(line.split(":", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        resident, own = (int(words[name].split()[0]) / 1e6 for name in ("VmRSS", "RssAnon"))
        return resident, own

    def close(self) -> None:
        self.ask("shutdown", None)
        self.tell("exit", None)
        self.process.wait(30)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        assert self.process.stdin
        with self._writing:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.process.stdin.flush()

    def _read(self) -> None:
        pipe = self.process.stdout
        assert pipe
        while line := pipe.readline():
            length = int(line.split(b":")[1])
            while pipe.readline().strip():
                pass
            message = json.loads(pipe.read(length))
            if "method" in message and "id" in message:
                # Progress bars and registrations: all are granted.
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})
            elif "id" in message:
                self._waiting[message["id"]].put(message)


def milliseconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def p95(times: list[float]) -> float:
    return float(np.quantile(times, 0.95))


def measure(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    ready = []
    for _ in range(STARTS):
        client = Client(folder)
        ready.append(client.ready_ms)
        client.close()
    yield row("server ready", "ms", statistics.median(ready), READY_MS)
    run = clew.open(str(next((folder / ".clew" / "runs").iterdir())))
    peer = milliseconds(lambda: scanned(run))
    for kept in (profile_cache.FOLDER, timeline_cache.FOLDER):
        shutil.rmtree(run.folder / kept, ignore_errors=True)
    client = Client(folder)
    files = sorted((folder / "shop").glob("part*.py"))
    uris = [client.open(path, "python") for path in files]
    yield row("lenses of a run that is new to the server, found after", "s", seconds_until_lenses(client, uris[0]))
    client.close()
    client = Client(folder)
    uris = [client.open(path, "python") for path in files]
    log = client.open(folder / "shop.log", "log")
    yield row("first lenses after a later start", "ms", milliseconds(lambda: lenses(client, uris[0])))
    time.sleep(5)  # what the server does on its own after it has opened a run
    chance = random.Random(1)
    questions: dict[str, Callable[[], Any]] = {
        "lenses": lambda: lenses(client, chance.choice(uris)),
        "hover": lambda: hover(client, chance.choice(uris), files),
        "definition": lambda: definition(client, log, folder, chance),
        "walk": lambda: walk(client, len(run.graph), chance),
        "slice": lambda: client.ask("clew/slice", {"target": {"event": chance.randrange(len(run.graph))}}),
        "critical path": lambda: client.ask(
            "clew/criticalPath", {"target": {"event": chance.randrange(len(run.graph))}}
        ),
        "timeline": lambda: client.ask("clew/timeline", {}),
        "aggregate": lambda: client.ask("clew/aggregate", {}),
    }
    for name, question in questions.items():
        first = milliseconds(question) / 1e3
        if name in VIEWS:
            yield row(f"first {name}", "s", first)
        times = [milliseconds(question) for _ in range(rounds // 4 if name in VIEWS else rounds)]
        scan = {"peer": "numpy, from the events", "peer_value": round(peer, 1)} if name in ("lenses", "hover") else {}
        yield row(f"{name}, p95", "ms", p95(times), ASKED_MS.get(name)) | scan
        yield row(f"{name}, median", "ms", statistics.median(times))
        yield row(f"resident memory after {name}", "GB", client.memory()[0], MEMORY_GB)
    busy = beside(client, lambda: client.begin("clew/patterns", {}), questions["hover"])
    yield row("hover while patterns are looked for, p95", "ms", p95(busy), ASKED_MS["hover"])
    for method, params in (
        ("clew/patterns", {"calls": 3}),
        ("clew/slice", {"target": {"function": "shop.part0:step_0"}}),
    ):
        answered, free = cancelled(client, method, params)
        yield row(f"{method} cancelled: answered after, p95", "ms", p95(answered), ASKED_MS["cancel"])
        yield row(f"{method} cancelled: its worker free after, p95", "ms", p95(free), ASKED_MS["cancel"])
    resident, own = client.memory()
    yield row("resident memory", "GB", resident, MEMORY_GB)
    yield row("of that the server's own, no file's", "GB", own)
    client.close()


def scanned(run: Any) -> np.ndarray:
    """Calls of each function and their times, from all events."""
    graph = run.graph
    enters = np.flatnonzero(graph.kind == Kind.ENTER)
    return np.bincount(graph.site[enters], graph.ts[enters].astype(float))


def seconds_until_lenses(client: Client, uri: str) -> float:
    """The server looks at a large run in the background, once, and has the editor ask again when it is done."""
    began = time.perf_counter()
    while not client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}}):
        time.sleep(0.1)
    return time.perf_counter() - began


def lenses(client: Client, uri: str) -> None:
    found = client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert found, "no lenses"
    pending = [client.begin("codeLens/resolve", lens) for lens in found if "command" not in lens]
    for number in pending:
        assert "result" in client.end(number)


def hover(client: Client, uri: str, files: list[Path]) -> None:
    path = next(path for path in files if path.as_uri() == uri)
    line = next(number for number, text in enumerate(path.read_text().splitlines()) if text.startswith("def "))
    found = client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": 6}})
    assert found, "no hover"


def definition(client: Client, uri: str, folder: Path, chance: random.Random) -> None:
    lines = (folder / "shop.log").read_text().count("\n")
    position = {"line": chance.randrange(lines), "character": 30}
    assert client.ask("textDocument/definition", {"textDocument": {"uri": uri}, "position": position}), "no definition"


def walk(client: Client, events: int, chance: random.Random) -> None:
    step = chance.choice(["cause", "effect", "previous", "next", "out", "in"])
    client.ask("clew/walk", {"target": {"event": chance.randrange(events)}, "step": step})


def beside(client: Client, begin: Callable[[], int], question: Callable[[], Any]) -> list[float]:
    """Times of a question while another one is under way."""
    number = begin()
    times = []
    while client._waiting[number].empty() and len(times) < ROUNDS:
        times.append(milliseconds(question))
    client.end(number)
    return times


def cancelled(client: Client, method: str, params: dict[str, Any]) -> tuple[list[float], list[float]]:
    """How long after its cancellation a request is answered, and how long until three others that need all workers are."""
    answered, free = [], []
    for attempt in range(8):
        # A question that was not asked before, so that no answer is kept of it.
        number = client.begin(method, params | {"maxNodes": 300 + attempt} if method == "clew/slice" else params)
        time.sleep(0.02 * (attempt + 1))
        began = time.perf_counter()
        client.tell("$/cancelRequest", {"id": number})
        client.end(number)
        answered.append((time.perf_counter() - began) * 1e3)
        others = [client.begin("clew/walk", {"target": {"event": 5}}) for _ in range(3)]
        for other in others:
            client.end(other)
        free.append((time.perf_counter() - began) * 1e3)
    return answered, free


def row(name: str, unit: str, ours: float, asked: float | None = None) -> dict[str, Any]:
    value = round(ours, 2)
    met = None if asked is None else value <= asked
    return {"name": name, "unit": unit, "ours": value, "peer": None, "peer_value": None, "asked": asked, "met": met}


def size(text: str) -> int:
    units = {"K": 10**3, "M": 10**6}
    unit = units.get(text[-1:].upper(), 1)
    return int(float(text[:-1] if unit > 1 else text) * unit)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=size, default=20_000_000, help="of the run (default: 20M)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="questions of a kind (default: 100)")
    parser.add_argument("--folder", type=Path, help="where the run is kept; default: a temporary folder")
    options = parser.parse_args()
    if options.events < 10_000 or options.rounds < 8:
        parser.error("give at least 10,000 events and 8 rounds")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        record(folder, options.events)
        rows = []
        for found in measure(folder, options.rounds):
            rows.append(found)
            asked = (
                "" if found["asked"] is None else f"  asked {found['asked']:g}: {'met' if found['met'] else 'MISSED'}"
            )
            peer = f"  ({found['peer']} {found['peer_value']:g})" if found["peer"] else ""
            print(f"{found['name']:60} {found['ours']:>10g} {found['unit']}{peer}{asked}", flush=True)
        machine = f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"
        print(json.dumps({"benchmark": "server", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
