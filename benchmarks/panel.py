"""The panel in a headless Chromium: how smoothly its views move, and how soon the server has what they show.

Each view has a function here that measures it and gives its rows. A frame is what passes between two `requestAnimationFrame`s;
beside it stands the same of a page that draws nothing, measured in the same way just before, since a busy machine delays both.
Script is the time that a frame's own code takes. The server's milliseconds are the processor's, a round trip's are the clock's;
beside it stands one whose answer is empty.

Needs Chromium and Playwright, as the end-to-end tests do (`tests/e2e/install.sh`; CLEW_E2E_CACHE names another place for it).
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from panel_entities import entities, live
from panel_measures import BLANK, HEIGHT, MEASURE, ROOT, WIDTH, frames_of, percentile, served
from rows import row
from synthetic.patterns import graph_of

from clew.graph.store import store
from clew.records.run.directory import finish_run, load_run
from clew.server.handlers import answer
from clew.server.session.session import Session

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
EXAMPLES = """examples:
  python benchmarks/panel.py                     all views, of 11 million records
  python benchmarks/panel.py --events 1000000    a smaller one
  python benchmarks/panel.py --events 100000 --views layouts,start
"""


# --- the run --------------------------------------------------------------------------------------------------------
def record(events: int, workspace: Path) -> None:
    """A stored run of one thread, as `benchmarks/patterns.py` has it."""
    graph = graph_of(events, workspace)
    (folder,) = (workspace / ".clew" / "runs").iterdir()
    finish_run(folder, load_run(folder), 0, [])
    store.save(folder, graph, [], store.fingerprint(folder))


# --- the timeline ---------------------------------------------------------------------------------------------------
def tile_questions(session: Session, count: int) -> list[dict[str, Any]]:
    """What a panel of `WIDTH` asks while it zooms and pans: all lanes, some tiles side by side, any scale."""
    found = answer(session, "clew/timeline", {})
    lanes = [{"strand": one["strand"], "depths": min(one["depth"], 16)} for one in found["strands"] if one["depth"]][
        :40
    ]
    rng = np.random.default_rng(1)
    length = int(found["toNs"])
    widest = max(1, (length // WIDTH).bit_length())
    questions = []
    for _ in range(count):
        scale = int(rng.integers(0, widest + 1))
        first = int(rng.integers(0, max(1, (length >> scale) // 512)))
        questions.append({"run": found["run"]["id"], "lanes": lanes, "scale": scale, "first": first, "tiles": 4})
    return questions


def tiles_of_the_server(workspace: Path, count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    session = Session(workspace)
    begun = time.perf_counter()
    questions = tile_questions(session, count)
    opened = time.perf_counter() - begun
    took, sizes = [], []
    for params in questions:
        start = time.thread_time()
        found = json.dumps({"result": answer(session, "clew/timelineTile", params)}, separators=(",", ":"))
        took.append((time.thread_time() - start) * 1000)
        sizes.append(len(found) / 1000)
    print(
        f"laid out in {opened:.1f} s; a tile: {statistics.median(took):.2f} ms at the median, {max(took):.1f} at most"
    )
    rows = [
        row("timeline: tiles of the server, 95 %", "ms of a processor", percentile(took, 95), 5),
        row("timeline: bytes of an answer, 95 %", "KB", percentile(sizes, 95), 450),
    ]
    return rows, questions


ROUND_TRIP = """
async ([questions, token]) => {
  const took = [[], []];
  for (const params of questions) {
    for (const [place, lanes] of [[0, []], [1, params.lanes]]) {
      const begun = performance.now();
      const answer = await fetch("rpc", {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
        body: JSON.stringify({ method: "clew/timelineTile", params: { ...params, lanes } }),
      });
      const { result } = await answer.json();
      atob(result.cells);
      took[place].push(performance.now() - begun);
    }
  }
  return took;
}
"""
"""Milliseconds of empty answers and of tiles, in turns."""


def moved(page: Any, seconds: float) -> None:
    """Zooms into the timeline and out, and pans, as fast as a hand does."""
    page.mouse.move(WIDTH / 2, 120)
    end, at = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for _ in range(12):
            page.mouse.wheel(0, -160 if at % 3 == 0 else 160 if at % 3 == 1 else 0)
            if at % 3 == 2:
                page.mouse.wheel(90 if at % 2 else -90, 0)
            page.wait_for_timeout(16)
        at += 1


def timeline(browser: Any, workspace: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows, questions = tiles_of_the_server(workspace, options.tiles)
    with served(workspace) as address:
        blank = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        blank.add_init_script(MEASURE)
        blank.goto(BLANK)
        nothing = frames_of(blank, lambda: moved(blank, options.seconds))["frames"]
        blank.close()
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(120_000)
        page.add_init_script(MEASURE)
        page.goto(f"{address}#view=timeline")
        page.locator(".timeline-canvas[data-whole]").wait_for()
        found = frames_of(page, lambda: moved(page, options.seconds))
        token = re.search(r"token=([^&#]+)", address)
        assert token
        empty, trips = page.evaluate(ROUND_TRIP, [questions, token[1]])
        page.close()
    frames, still = found["frames"], "a page that draws nothing"
    print(f"{len(frames)} frames, {statistics.median(frames):.1f} ms at the median, {max(frames):.1f} at most")
    quiet = [percentile(nothing, share) for share in (99, 50)]
    return [
        row("timeline: frames, 99 %", "ms", percentile(frames, 99), 17, peer=still, peer_value=quiet[0]),
        row("timeline: frames, 50 %", "ms", percentile(frames, 50), 17, peer=still, peer_value=quiet[1]),
        row("timeline: script of a frame, 95 %", "ms", percentile(found["scripts"], 95), 4),
        *rows,
        row("timeline: round trips of tiles, 95 %", "ms", percentile(trips, 95), 15,
            peer="an empty answer", peer_value=percentile(empty, 95)),
        row("timeline: round trips of tiles, 50 %", "ms", percentile(trips, 50), 15,
            peer="an empty answer", peer_value=percentile(empty, 50)),
    ]  # fmt: skip


# --- layouts --------------------------------------------------------------------------------------------------------
ROUNDS = 15
"""The first is thrown away: it has the code compiled."""


def layouts(browser: Any, _workspace: Path, _options: argparse.Namespace) -> list[dict[str, Any]]:
    """The panel's own layouts on random graphs, in the browser; of a flow with all that is drawn of it."""
    client = ROOT / "vscode-client"
    bundle = [str(client / "node_modules/.bin/esbuild"), "test/benchmark/layoutTimes.ts", "--bundle", "--format=iife"]
    made = subprocess.run(
        [*bundle, "--minify", "--global-name=layouts"], cwd=client, capture_output=True, text=True, check=True
    )
    page = browser.new_page()
    page.goto(BLANK)
    page.add_script_tag(content=made.stdout)
    rows = []
    for name, size, asked in (("layered", 226, 200), ("layered", 500, 500), ("flow", 2000, 50)):
        took = [page.evaluate(f"layouts.{name}Ms({size}, {seed})") for seed in range(1, ROUNDS + 1)][1:]
        what = "calls in lanes, with their picture" if name == "flow" else "nodes in layers"
        rows.append(row(f"layout of {size:,} {what}, median", "ms", statistics.median(took), asked))
    page.close()
    return rows


# --- patterns -------------------------------------------------------------------------------------------------------
def brushed(page: Any, box: dict[str, float], seconds: float) -> None:
    """Drags a window over the whole run's axis, back and forth, and anew."""
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        left, right = box["x"] + box["width"] * 0.1, box["x"] + box["width"] * (0.3 + 0.1 * (turn % 6))
        page.mouse.move(left, box["y"] + box["height"] / 2)
        page.mouse.down()
        for part in range(24):
            page.mouse.move(left + (right - left) * (part + 1) / 24, box["y"] + box["height"] / 2)
            page.wait_for_timeout(16)
        page.mouse.up()
        turn += 1


def panned(page: Any, box: dict[str, float], seconds: float) -> None:
    """Pans a drawing by dragging its ground, and zooms it in and out."""
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        x, y = box["x"] + box["width"] - 24, box["y"] + 24
        page.mouse.move(x, y)
        page.mouse.down()
        for part in range(16):
            page.mouse.move(x - 6 * (part if turn % 2 else 16 - part), y + 3 * part)
            page.wait_for_timeout(16)
        page.mouse.up()
        for part in range(8):
            page.mouse.wheel(0, -60 if part < 4 else 60)
            page.wait_for_timeout(16)
        turn += 1


def patterns(browser: Any, workspace: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Frames while the run's axis is brushed, and while the flow diagram is panned and zoomed."""
    still, rows = "a page that draws nothing", []
    with served(workspace) as address:
        for name, place, move in (
            ("patterns: frames while brushing, 99 %", "svg.times-whole", brushed),
            ("flow diagram: frames while panning, 99 %", "clew-graph.pattern-diagram svg.canvas", panned),
        ):
            found = []
            for url in (BLANK, f"{address}#view=patterns"):
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
                page.set_default_timeout(300_000)
                page.add_init_script(MEASURE)
                page.goto(url)
                box = {"x": 100.0, "y": 100.0, "width": 900.0, "height": 400.0}
                if url != BLANK:
                    page.locator(".pattern-rows tbody tr").first.wait_for()
                    page.locator(place).first.scroll_into_view_if_needed()
                    page.wait_for_timeout(500)
                    box = page.locator(place).first.bounding_box()
                found.append(frames_of(page, functools.partial(move, page, box, options.seconds))["frames"])
                page.close()
            quiet, ours = found
            rows.append(row(name, "ms", percentile(ours, 99), 17, peer=still, peer_value=percentile(quiet, 99)))
    return rows


# --- the start ------------------------------------------------------------------------------------------------------
def first_script() -> int:
    """Bytes, compressed, of the first script and all that it imports at once."""
    static = ROOT / "server" / "static"
    needed: set[Path] = set()
    pending = [static / "main.js"]
    while pending:
        file = pending.pop()
        if file not in needed:
            needed.add(file)
            imports = re.findall(r"(?:from|import)\s*\"(\.[^\"]+\.js)\"", file.read_text())
            pending += [(file.parent / name).resolve() for name in imports]
    return sum(len(gzip.compress(file.read_bytes(), 6)) for file in needed)


def start(browser: Any, workspace: Path, _options: argparse.Namespace) -> list[dict[str, Any]]:
    """From the address to a picture, in a browser that has nothing of the panel yet, of a server that has the run open."""
    took, blank = [], []
    with served(workspace) as address:
        for _ in range(6):
            context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
            page = context.new_page()
            page.set_default_timeout(120_000)
            begun = time.perf_counter()
            page.goto(BLANK)
            blank.append((time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
            page.goto(f"{address}#view=timeline")
            page.locator(".timeline-canvas[data-whole]").wait_for()
            took.append((time.perf_counter() - begun) * 1000)
            context.close()
    return [
        row("first picture, median", "ms", statistics.median(took[1:]), 1000,
            peer="an empty page", peer_value=statistics.median(blank[1:])),
        row("first script, compressed", "KB", first_script() / 1000, 50),
    ]  # fmt: skip


VIEWS: dict[str, Callable[[Any, Path, argparse.Namespace], list[dict[str, Any]]]] = {
    "timeline": timeline,
    "layouts": layouts,
    "patterns": patterns,
    "entities": entities,
    "live": live,
    "start": start,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EXAMPLES
    )
    parser.add_argument("--events", type=int, default=11_000_000, help="of the run (default: 11,000,000)")
    parser.add_argument(
        "--views", default=",".join(VIEWS), help=f"what is measured, of {', '.join(VIEWS)} (default: all)"
    )
    parser.add_argument("--seconds", type=float, default=15.0, help="of panning and zooming (default: 15)")
    parser.add_argument("--tiles", type=int, default=400, help="answers that are timed (default: 400)")
    options = parser.parse_args()
    unknown = set(options.views.split(",")) - set(VIEWS)
    if unknown or options.events < 1000 or options.seconds <= 0 or options.tiles < 1:
        parser.error(f"views are {', '.join(VIEWS)}; give at least 1,000 events, some seconds and a tile")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("Playwright is not installed; run tests/e2e/install.sh")
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium; apt-get install chromium")
    with tempfile.TemporaryDirectory(prefix="clew-panel-") as place, sync_playwright() as playwright:
        record(options.events, Path(place))
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        rows = [one for view in options.views.split(",") for one in VIEWS[view](browser, Path(place), options)]
        browser.close()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(json.dumps({"benchmark": "panel", "machine": machine, "events": options.events, "rows": rows}))


if __name__ == "__main__":
    main()
