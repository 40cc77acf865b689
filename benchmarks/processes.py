"""What causality between processes costs: messages, pools, HTTP, sockets and starts with the adapters on, beside none.

Each way runs in a process tree of its own, the two in turns in every round, so that a busy machine slows both alike; a round's
ratio is that of its neighbours. No function is recorded: what is measured are the adapters' hooks. Times are the CPU's, of all
processes together: what a run of none takes is subtracted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from recording.report import report

from clew.instrument.run_environment import environment
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run

EXAMPLES = """examples:
  python benchmarks/processes.py                 all workloads, 11 rounds
  python benchmarks/processes.py --rounds 3 queue  a quick look at one of them
"""
ADAPTERS = ("threads", "executors", "queues", "tasks", "processes", "http", "sockets")

WORKER = r"""
import http.client, http.server, multiprocessing, os, socket, sys
from concurrent.futures import ProcessPoolExecutor

def nothing(item): return item

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", -1
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
        self.server.left -= 1
        self.close_connection = not self.server.left
    def log_message(self, *words): pass

def serve(port, count):
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    server.left = count
    port.send(server.server_address[1])
    server.handle_request()

def queue(count):
    items = multiprocessing.Queue()
    for number in range(count):
        items.put(number)
        items.get()

def simple_queue(count):
    items = multiprocessing.SimpleQueue()
    for number in range(count):
        items.put(number)
        items.get()

def pipe(count):
    here, there = multiprocessing.Pipe()
    for number in range(count):
        here.send(number)
        there.recv()

def pool(count):
    with multiprocessing.Pool(1) as workers:
        workers.map(nothing, range(count), chunksize=1)
        workers.close()
        workers.join()

def executor(count):
    with ProcessPoolExecutor(1) as workers:
        workers.submit(nothing, 0).result()
        for number in range(count): workers.submit(nothing, number).result()

def http_request(count):
    here, there = multiprocessing.Pipe()
    child = multiprocessing.Process(target=serve, args=(there, count + 1))
    child.start()
    connection = http.client.HTTPConnection("127.0.0.1", here.recv())
    for _ in range(count + 1):
        connection.request("GET", "/")
        connection.getresponse().read()
    child.join()

def echo(count):
    listener = socket.create_server(("127.0.0.1", 0))
    message = bytes(1024)
    child = os.fork()
    if child == 0:
        connection, _ = listener.accept()
        while message := connection.recv(1024, socket.MSG_WAITALL): connection.sendall(message)
        os._exit(0)
    with socket.create_connection(listener.getsockname()) as connection:
        for _ in range(count):
            connection.sendall(message)
            connection.recv(1024, socket.MSG_WAITALL)
    os.waitpid(child, 0)

def fork(count):
    for _ in range(count):
        pid = os.fork()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)

if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    globals()[sys.argv[1]](int(sys.argv[2]))
    print(sum(os.times()[:4]) / int(sys.argv[3]))
"""
WORKLOADS = {
    "queue": ("multiprocessing.Queue, put to get", 8000),
    "simple_queue": ("SimpleQueue, put to get", 20000),
    "pipe": ("Connection, send to recv", 20000),
    "pool": ("Pool.map, an item (chunks of one)", 8000),
    "executor": ("ProcessPoolExecutor, submit to result", 2000),
    "http_request": ("HTTP request, http.client to http.server", 2000),
    "echo": ("echo of 1 KB by a socket, there and back", 20000),
    "fork": ("fork, exit and wait", 300),
}
"""What each does, and how often."""


def once(workload: str, folder: Path, env: dict[str, str]) -> float:
    """Microseconds of CPU that a passage takes, what comes with the first one left out."""
    count = WORKLOADS[workload][1]
    took = []
    for number in (0, count):
        command = [sys.executable, "worker.py", workload, str(number), str(count)]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=True)
        took.append(float(done.stdout) * 1e6)
    return took[1] - took[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", choices=[*WORKLOADS, []], help="default: all")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "worker.py").write_text(WORKER)
        plain = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
        for name in options.workloads or WORKLOADS:
            without, ratios = [], []
            for number in range(options.rounds):
                run, _ = create_run(
                    folder, name=f"{name}-{number}", command=[], spec="", plan=dump(Plan(adapters=ADAPTERS))
                )
                traced = environment(run)
                first, second = once(name, folder, plain), once(name, folder, traced)
                without.append(first)
                ratios.append(second / first)
            base, ratio = statistics.median(without), statistics.median(ratios)
            added = base * (ratio - 1)
            print(f"{WORKLOADS[name][0]:45}{base:9.1f} µs {added:+8.1f} µs  x{ratio:.2f}", flush=True)
            rows.append({
                "name": WORKLOADS[name][0], "unit": "µs of CPU", "ours": base * ratio, "peer": "untraced", "peer_value": base,
                "asked": None, "met": None,
            })  # fmt: skip
    report("processes", rows)


if __name__ == "__main__":
    main()
