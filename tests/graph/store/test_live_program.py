"""A real program is opened repeatedly while it is recorded, until its end."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from clew.graph.build.builder import build
from clew.graph.store.incremental_cache import GROWING_FOLDER
from clew.graph.store.store import open_graph
from clew.records.run.directory import STORE_FOLDER, load_run, trace_files

PROGRAM = """
import asyncio, logging, os, queue, sys, threading
logging.basicConfig(level=logging.INFO)

async def work(number, results):
    await asyncio.sleep(0)
    await results.put(number)

async def main():
    results = asyncio.Queue()
    number = 0
    while not sys.stdin.closed and os.path.exists(sys.argv[1]):
        await asyncio.gather(*[work(number + more, results) for more in range(20)])
        while not results.empty():
            await results.get()
        number += 20
        if number % 400 == 0:
            logging.info("at %d", number)
        if number == 2000 and not os.fork():
            break
        await asyncio.sleep(0.001)

background = queue.Queue()
worker = threading.Thread(target=lambda: [None for _ in iter(background.get, None)])
worker.start()
for number in range(100):
    background.put(number)
asyncio.run(main())
background.put(None)
if worker.is_alive():
    worker.join(5)
"""


@pytest.mark.parametrize("keep", ["oldest", "newest"])
def test_open_graph_of_live_program_grows_until_its_end(tmp_path, keep):
    (tmp_path / "app.py").write_text(PROGRAM)
    goes_on = tmp_path / "goes-on"
    goes_on.touch()
    command = [sys.executable, "-m", "clew", "run", "-q", "--budget", "none", "--quota", "2MB", "--keep", keep, "--"]
    with subprocess.Popen(
        [*command, sys.executable, "app.py", str(goes_on)], cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as program:
        folder = None
        seen = []
        while len(seen) < 8 or seen[-1] < 20_000:
            time.sleep(0.1)
            assert program.poll() is None
            if folder is None:
                found = [path.parent for path in tmp_path.glob(".clew/runs/*/run.json") if trace_files(path.parent)]
                folder = found[0] if found else None
                continue
            graph, problems = open_graph(folder)
            assert any("not over" in problem.what for problem in problems)
            assert keep == "newest" or len(graph) >= max(seen, default=0)
            seen.append(len(graph))
            if keep == "newest" and len(seen) > 8:
                break
        goes_on.unlink()
        assert program.wait(60) == 0
    assert load_run(folder).finished
    graph, expected = open_graph(folder)[0], build(folder)[0]
    for name in ("ts", "kind", "site", "strand", "region", "call", "edge_src", "edge_dst", "edge_kind"):
        assert np.array_equal(getattr(graph, name), getattr(expected, name)), name
    assert graph.strands == expected.strands
    assert not (folder / GROWING_FOLDER).exists()
    state = json.loads((folder / STORE_FOLDER / "manifest.json").read_text().splitlines()[0])
    assert state["format"]
