"""The paper's figure 8 with the panel's layouts beside it: when forces rest, and which layouts show all lines clearly.

    python benchmarks/layout.py [NAME …]

Records the systems of `examples/topologies`, as large as the paper's, and lays out what was recorded: all entities that there
were, where they were last, and all lines between them in the whole run. Forces rest when nothing moves by 1e-5 px a cycle. The
paper draws each cycle, of 17.81 ms; we need not, so ours are seconds of the processor, of which under 2 s are asked; beside
them stands what our cycles would take, were each drawn. A line is clear that fewer than 3 others cross and that passes over no
entity. The third layout is asked to show more lines clearly than the other two where neither shows all, and the one that is
chosen as many as any, less the entities that stand in the outline of a container that is not theirs, which are counted.

Needs Node and the client's packages (`make client`). The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from rows import row

from clew.graph.entities.events import Happening
from clew.graph.entities.fold import Fold
from clew.graph.entities.nesting import nesting
from clew.graph.entities.playback import lines
from clew.graph.entities.source import entities_of
from clew.graph.store.store import open_graph

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "vscode-client"
EXAMPLES = ROOT / "examples" / "topologies"
SYSTEMS = {
    "grid": ["--steps", "5"], "josephus": [], "chord": ["--lookups", "100"], "hypercube": [], "tree": [], "farm": [],
    "theaters": [],
}  # fmt: skip
"""With their options: each step of a grid has all its lines; of Chord's the paper has 150, these lookups 149."""
PAPER = {"grid": 80.523, "chord": 4.202, "hypercube": 6.845, "tree": 27.962}
"""Seconds until its forces rest."""
CLEARED = {
    "grid": ("no", "yes"), "chord": ("no", "no"), "hypercube": ("no", "no"), "tree": ("yes", "yes"),
}  # fmt: skip
"""Does the paper's concentric layout show all lines clearly; do its forces?"""
ASKED_S = 2.0
CYCLE_S = 0.01781
"""The paper's."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SYSTEMS)} (default: all)")
    names = parser.parse_args().names or list(SYSTEMS)
    if unknown := [name for name in names if name not in SYSTEMS]:
        parser.error(f"there is no system {unknown[0]}; there are {', '.join(SYSTEMS)}")
    systems = measured({name: recorded(name) for name in names})
    rows: list[dict[str, Any]] = []
    head = (
        "system",
        "entities",
        "lines",
        "at rest, s",
        "cycles",
        "drawn, s",
        "paper, s",
        "concentric",
        "force",
        "untangled",
        "auto",
        "foreign",
    )
    print("  ".join(f"{word:>12}" for word in head))
    for name, found in systems.items():
        layouts = found["layouts"]
        seconds = {layout: figures["ms"] / 1e3 for layout, figures in layouts.items()}
        clear = {layout: figures["clear"] for layout, figures in layouts.items()}
        lines = layouts["force"]["lines"]
        theirs = CLEARED.get(name, ("", ""))
        words = [
            name, found["entities"], lines, f"{seconds['force']:.3f}", found["cycles"],
            f"{found['cycles'] * CYCLE_S:.1f}", PAPER.get(name, ""),
            *(f"{clear[layout]} ({said})" if said else clear[layout]
              for layout, said in zip(("concentric", "force", "untangled"), (*theirs, ""), strict=True)),
            found["chosen"], " ".join(str(layouts[layout]["foreign"]) for layout in clear),
        ]  # fmt: skip
        print("  ".join(f"{word!s:>12}" for word in words))
        peer, took = ("the paper" if name in PAPER else ""), PAPER.get(name)
        rest = row(f"{name}, forces at rest", "s", seconds["force"], ASKED_S, peer=peer, peer_value=took, digits=3)
        rows.append({**rest, "met": rest["met"] and found["still"]})
        for layout in ("concentric", "force", "untangled"):
            strangers = layouts[layout]["foreign"]
            # On rings, and untangled, nobody can; forces only keep containers apart.
            asked = None if layout == "force" else 0
            rows.append(row(f"{name}, entities in foreign containers, {layout}", "entities", strangers, asked))
        shown = clear[found["chosen"]] - layouts[found["chosen"]]["foreign"]
        most = max(clear[layout] - layouts[layout]["foreign"] for layout in clear)
        rows.append(row(f"{name}, lines that another layout shows more than the chosen one", "lines", most - shown, 0))
        best = max(clear["concentric"], clear["force"])
        if best < lines:
            rows.append(
                row(f"{name}, lines not clear, untangled", "lines", lines - clear["untangled"], lines - best - 1)
            )
            rows.append(row(f"{name}, untangled", "s", seconds["untangled"], ASKED_S, digits=3))
    print(
        "Clear lines, in brackets whether all were in the paper; and of each layout the entities in foreign containers."
    )
    print(json.dumps({"benchmark": "layout", "machine": platform.machine(), "rows": rows}))
    sys.exit(0 if all(row["met"] for row in rows) else 1)


def recorded(name: str) -> dict[str, Any]:
    """A recorded system as layouts take it."""
    with tempfile.TemporaryDirectory(prefix="clew-layout-") as workspace:
        command = [sys.executable, f"{name}.py", *SYSTEMS[name]]
        clew = [sys.executable, "-m", "clew", "run", "--quiet", "--workspace", workspace, "--spec", f"{name}.esl", "--"]
        subprocess.run([*clew, *command], cwd=EXAMPLES, check=True, stdout=subprocess.DEVNULL)
        (run,) = (Path(workspace) / ".clew" / "runs").iterdir()
        events, _ = entities_of(open_graph(run)[0])
    kept = events.kind != Happening.DELETION
    columns = {name: getattr(events, name)[kept] for name in ("ns", "kind", "first", "other", "row", "channel")}
    events = replace(events, **columns)
    found = nesting(events, Fold(events).at(len(events)))
    there = found.chosen(events.entities)
    talks = lines(events, 0, len(events), found.lifted(there), shown=len(there), most=len(events))
    ends = zip(there[talks.source].tolist(), there[talks.target].tolist(), talks.count.tolist(), strict=True)
    return {
        "entities": [{"id": one, "container": int(found.container[one])} for one in there.tolist()],
        "talks": [{"source": source, "target": target, "count": count} for source, target, count in ends],
    }


def measured(systems: dict[str, Any]) -> dict[str, Any]:
    """By system what `test/benchmark/layoutClarity.ts` tells."""
    bundler = CLIENT / "node_modules" / ".bin" / "esbuild"
    if not bundler.exists():
        sys.exit(f"{bundler} is not there: `npm ci` in {CLIENT.name} installs it")
    with tempfile.TemporaryDirectory(prefix="clew-layout-") as folder:
        bundle = Path(folder) / "figures.cjs"
        source = CLIENT / "test" / "benchmark" / "layoutClarity.ts"
        options = ["--bundle", "--platform=node", "--format=cjs", "--log-level=warning", f"--outfile={bundle}"]
        subprocess.run([bundler, source, *options], check=True)
        given = json.dumps(systems)
        done = subprocess.run(["node", bundle], check=True, input=given, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
