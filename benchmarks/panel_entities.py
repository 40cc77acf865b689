"""How smoothly entities are played, and how soon those of a running program are on the screen, for `benchmarks/panel.py`."""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from from_tests import load
from panel_measures import BLANK, HEIGHT, MEASURE, WIDTH, frames_of, percentile, served
from rows import row

from clew.records.format.event import Kind
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run

ENTITIES, CONTAINERS, EACH_SECOND = 1000, 20, 10_000
PLAYED = 10
"""Seconds: at twice the usual speed the panel plays a run of any length in so many."""


def record_entities(workspace: Path) -> None:
    """A run that tells of 1,000 entities in containers, of which each moves now and then, and all talk to each other."""
    folder, info = create_run(workspace, name="entities", command=["app"], spec="", plan=dump(Plan()), cwd=workspace)
    save_run(folder, info)
    run = load("support/runs/records.py").RunFolder(folder, info)
    thread = run.process().thread()
    site, choose = run.processes[0].site("act"), np.random.default_rng(1)
    near = choose.integers(0, ENTITIES, (ENTITIES, 3))

    def tell(event: str, *values: str) -> None:
        text = json.dumps({"event": event, "entity": "Actor", "values": values})
        thread.put(Kind.ENTITY, site, key=0, channel="Actor", text=text)

    thread.enter("act")
    for one in range(ENTITIES):
        tell("position", f"actor {one}", f"theater {one % CONTAINERS}")
    for at in range(EACH_SECOND * PLAYED):
        one = int(choose.integers(ENTITIES))
        if at % 1000:
            tell("communication", f"actor {one}", f"actor {near[one, at % 3]}")
        else:
            tell("position", f"actor {one}", f"theater {int(choose.integers(CONTAINERS))}")
    thread.exit("act")
    run.write()


def entities(browser: Any, _workspace: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Frames while 1,000 entities with 10,000 communications a second are played."""
    found: list[dict[str, list[float]]] = []
    with tempfile.TemporaryDirectory(prefix="clew-entities-") as place:
        record_entities(Path(place))
        with served(Path(place)) as address:
            for url in (BLANK, f"{address}#view=entities&layout=concentric&most=1000&moment={ENTITIES}"):
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
                page.set_default_timeout(120_000)
                page.add_init_script(MEASURE)
                page.goto(url)
                if url != BLANK:
                    page.locator("canvas.front[data-still]").wait_for()
                    page.get_by_label("Speed").select_option("2")
                    page.locator(".entity-bar .play").click()
                    page.wait_for_timeout(1500)
                seconds = min(options.seconds, PLAYED - 3)
                found.append(frames_of(page, functools.partial(page.wait_for_timeout, 1000 * seconds)))
                page.close()
    still, ours = found
    said, blank = "a page that draws nothing", still["frames"]
    return [
        row("entities: frames, 50 %", "ms", percentile(ours["frames"], 50), 17, peer=said, peer_value=percentile(blank, 50)),
        row("entities: frames, 95 %", "ms", percentile(ours["frames"], 95), 17, peer=said, peer_value=percentile(blank, 95)),
        row("entities: script of a frame, 50 %", "ms", percentile(ours["scripts"], 50), 8),
    ]  # fmt: skip


# --- a program that runs --------------------------------------------------------------------------------------------
TOLD = 200
"""Events whose way to the screen is timed."""
TELLING = """
import random, sys, time

class Actor:
    def tell(self, other):
        pass

def act(count):
    actors = [Actor() for _ in range(20)]
    for at in range(count):
        time.sleep(random.uniform(0.02, 0.1))
        told = time.time()
        actors[at % 20].tell(actors[at * 7 % 20 - 1])
        print(told, flush=True)

sys.stdin.readline()
act(int(sys.argv[1]))
sys.stdin.readline()
"""
TELLING_SPEC = """
include standard;
entity Actor is telling:Actor {
  when start tell(other) -> communication(this, other);
}
scope telling:act;
"""
WATCH = """
() => {
  window.drawn = [];
  let last = 0;
  const look = () => {
    const moment = Number(document.querySelector(".entity-bar .at")?.title.replaceAll(",", "").match(/\\d+/)?.[0] ?? 0);
    if (moment > last) window.drawn.push([(last = moment), performance.timeOrigin + performance.now()]);
    requestAnimationFrame(look);
  };
  look();
}
"""
"""Notes after how many events a frame was drawn, and when, in ms."""


def live(browser: Any, _workspace: Path, _options: argparse.Namespace) -> list[dict[str, Any]]:
    """From an event in a program to the frame that shows it, as `clew view --live` does."""
    with tempfile.TemporaryDirectory(prefix="clew-live-") as place:
        folder = Path(place)
        (folder / "telling.py").write_text(TELLING)
        (folder / "telling.esl").write_text(TELLING_SPEC)
        command = [sys.executable, "-m", "clew", "run", "-q", "--budget", "none", "--spec", "telling.esl", "--"]
        program = subprocess.Popen(
            [*command, sys.executable, "telling.py", str(TOLD)],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert program.stdin and program.stdout
        try:
            runs = folder / ".clew" / "runs"
            while not (runs.exists() and list(runs.glob("*/*.clew"))) and program.poll() is None:
                time.sleep(0.1)
            with served(folder, "--live") as address:
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
                page.set_default_timeout(120_000)
                page.goto(address)
                page.locator(".entity-bar").wait_for()
                page.evaluate(WATCH)
                program.stdin.write("\n")
                program.stdin.flush()
                told = [float(program.stdout.readline()) * 1000 for _ in range(TOLD)]
                drawn = [[0, 0.0]]
                while drawn[-1][0] < TOLD:
                    page.wait_for_timeout(100)
                    drawn = page.evaluate("window.drawn") or drawn
                page.close()
        finally:
            program.communicate("\n", timeout=60)
    took = [next(at for moment, at in drawn if moment > event) - began for event, began in enumerate(told)]
    print(f"{len(drawn)} pictures of {TOLD} events, {max(took):.0f} ms at most")
    return [
        row("a running program: from event to drawn frame, 50 %", "ms", percentile(took, 50), 100),
        row("a running program: from event to drawn frame, 99 %", "ms", percentile(took, 99), 250),
    ]
