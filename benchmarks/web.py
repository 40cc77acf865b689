"""Ask `clew why` about the ERROR lines of a web service under load, and measure what recording it costs.

The service is FastAPI with SQLAlchemy (async, aiosqlite), a redis cache, and a second service that it asks with httpx. It gets
2,000 requests at 8 connections, of which a few per cent fail for causes that are planted. Measured are: the share of answers
that stay in their request or leave it along data, a resource or a message; the share that names the planted cause; claims about
a load without faults; the time of a cold `clew why`; and the CPU time of the service, recorded and under OpenTelemetry's
instrumentation and VizTracer, beside the service without any, in blocks of requests that take turns. Libraries are installed
into `.cache/web` at the first use; redis is Debian's.
"""

from __future__ import annotations

import argparse
import http.server
import importlib.util
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bug_programs.set_up import ROOT, libraries
from recording.report import report
from rows import Row, row
from web_service import load
from web_service.judge import CLEW, claimed, judge
from web_service.service import CACHE, Service, service

EXAMPLES = """examples:
  python benchmarks/web.py                  everything, about ten minutes
  python benchmarks/web.py --only answers   the answers and their time
  python benchmarks/web.py --full           the same with more blocks of requests
"""
REQUESTS, FAULTY = 2000, 84
BLOCK, BLOCK_FAULTY = 100, 4
BLOCKS, BLOCKS_FULL = 30, 100
COLD = 5
"""How often the time of a cold `clew why` is taken."""
RECORD = (*CLEW, "run", "--quiet", "--")
OPENTELEMETRY = tuple(
    f"opentelemetry-{name}"
    for name in (
        "sdk==1.45.2", "exporter-otlp-proto-http==1.45.2", "instrumentation-fastapi==0.66b2", "instrumentation-httpx==0.66b2",
        "instrumentation-redis==0.66b2", "instrumentation-sqlalchemy==0.66b2",
    )
)  # fmt: skip


def answers(folder: Path, requests: int, faulty: int) -> list[Row]:
    """Judge the answers about a load with faults, and what is claimed about one without."""
    sent = load.planned(requests, faulty)
    with service(folder / "faulty", RECORD) as running:
        answered = running.send(sent)
    silent = [one.sent.fault for one in answered if one.sent.fault and one.status < 400]
    wrong = [one.sent.path for one in answered if not one.sent.fault and one.status >= 400]
    print(
        f"{requests:,} requests, {faulty} planted faults; not shown: {len(silent)}; failed besides: {wrong}", flush=True
    )
    first, later = cold(folder / "faulty", 1), cold(folder / "faulty", COLD)
    judged = judge(folder / "faulty", sent, faulty)
    for fault, count in judged.planted.items():
        print(
            f"\n{fault}: {judged.named[fault]} of {count} named; such as\n  {judged.samples[fault]}".replace(
                "\n", "\n  "
            )
        )
    for line in judged.left[:10]:
        print(f"left its request: {line}")
    with service(folder / "healthy", RECORD) as running:
        running.send(load.planned(requests, 0))
    claims = claimed(folder / "healthy")
    print("".join(f"\nclaimed without a fault: {claim}" for claim in claims[:5]), flush=True)
    of, planted = f"of {judged.lines}", judged.planted.total()
    return [
        row("answers that leave their request by scheduling", of, judged.lines - judged.stayed, 0, digits=0),
        row("answers without the planted cause", f"of {planted}", planted - judged.named.total(), None, digits=0),
        row("claims about a load without faults", "claims", len(claims), 0, digits=0),
        row("clew why, cold, that builds the graph", "s", first[0], None),
        row("clew why, cold", "s", later[0], 1),
        row("clew why, cold: CPU", "s", later[1], None),
    ]


def cold(workspace: Path, times: int) -> tuple[float, float]:
    """Return the medians of the seconds, and of the CPU seconds, of a `clew why` in a new process."""
    took = []
    for _ in range(times):
        began, used = time.monotonic(), _children_cpu()
        subprocess.run((*CLEW, "why", "there is no item"), cwd=workspace, capture_output=True, check=True)
        took.append((time.monotonic() - began, _children_cpu() - used))
    wall, cpu = zip(*took, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost(folder: Path, blocks: int) -> list[Row]:
    """Compare the CPU seconds of the services, which get the same blocks of requests in turns."""
    with ExitStack() as stack:
        services = {"plain": stack.enter_context(service(folder / "plain"))}
        services["clew"] = stack.enter_context(service(folder / "clew", RECORD))
        for peer, runner, variables in _peers(stack):
            services[peer] = stack.enter_context(service(folder / peer, (), runner, variables=variables))
        for running in services.values():
            running.send(load.planned(BLOCK, 0))  # imports, caches and connections
        ratios: dict[str, list[float]] = {name: [] for name in services}
        for block in range(blocks):
            took = _block(services, block)
            for name, seconds in took.items():
                ratios[name].append(seconds / took["plain"])
            told = ", ".join(f"{name} {seconds / BLOCK * 1e3:.2f}" for name, seconds in took.items())
            print(f"block {block + 1}: ms of CPU a request: {told}", flush=True)
    name, ours = "CPU time of the service, plain: 1", statistics.median(ratios.pop("clew"))
    del ratios["plain"]
    return [
        row(name, "x", ours, 1.10, peer=peer, peer_value=statistics.median(own)) for peer, own in ratios.items()
    ] or [row(name, "x", ours, 1.10)]


def _block(services: dict[str, Service], number: int) -> dict[str, float]:
    """Send the same requests to each service in turn, beginning with another one each time."""
    requests = load.planned(BLOCK, BLOCK_FAULTY, seed=number)
    names = list(services)
    turn = number % len(names)
    took = {}
    for name in (*names[turn:], *names[:turn]):
        before = services[name].cpu()
        services[name].send(requests)
        took[name] = services[name].cpu() - before
    return {name: took[name] for name in names}


def _peers(stack: ExitStack) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Yield each peer that can be set up, the words that run a script under it, and its environment variables."""
    try:
        found = libraries(OPENTELEMETRY, sys.executable, CACHE)
        script = str(ROOT / "benchmarks" / "web_service" / "with_opentelemetry.py")
        to = stack.enter_context(_sink())
        yield "OpenTelemetry", [sys.executable, script], {"PYTHONPATH": str(found), "SPANS_TO": to}
    except OSError as error:
        print(f"OpenTelemetry is not measured: {error}", file=sys.stderr)
    if importlib.util.find_spec("viztracer"):
        words = ["-m", "viztracer", "--ignore_c_function", "--quiet", "-o", "viztracer.json", "--"]
        yield "VizTracer", [sys.executable, *words], {}
    else:
        print("VizTracer is not measured: it is not installed", file=sys.stderr)


@contextmanager
def _sink() -> Iterator[str]:
    """Accept spans and drop them; yield the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as sink:
        threading.Thread(target=sink.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{sink.server_port}/v1/traces"
        sink.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["answers", "cost"], help="measure only these")
    parser.add_argument(
        "--requests", type=int, default=REQUESTS, help=f"in the load that is asked about (default {REQUESTS})"
    )
    parser.add_argument("--full", action="store_true", help=f"{BLOCKS_FULL} blocks of requests instead of {BLOCKS}")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="clew-web-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if options.only != "cost":
            rows += answers(folder, options.requests, FAULTY * options.requests // REQUESTS)
        if options.only != "answers":
            rows += cost(folder, BLOCKS_FULL if options.full else BLOCKS)
    report("web", rows)


if __name__ == "__main__":
    main()
