"""How often the faulty service is the first suspect, or among the first three, of faults put into healthy traces.

Labelled cases of five kinds (`localize_faults.py`), one ranking for all, which is not told the kind; both sides have errors of
other causes. Cases are split by their seed: methods are chosen with the half for tuning alone, and the half for judging is run
once or twice. Latency is ranked by spans and logs, and by spans only. Cases with a reference of another day, which differs by
itself, are a row of their own, and so are structural faults that leave nothing in the visits of their own service. Healthy
periods have suspects, too: their first one's score is told beside those of faults, and so is that of the two real healthy days
against each other. Beside clew's shares stand the goals and the bounds that the shares lie in at 95 % (Wilson). Peers, on the
same cases: the largest shift of total self time, and the smallest p of Mann and Whitney over services' self times per request.
Needs the traces of TrainTicket: CLEW_SHARED_DATA names the folder that holds `trainticket/`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from localize_faults import KINDS, LATENCY, Case, half_of, make_case, make_healthy, without_logs

from clew.compare.localize.latency_evidence import mean_by_request
from clew.compare.localize.ranking import localize
from clew.compare.localize.visits import Sides, two_sides
from clew.compare.stats.tests import Samples, mann_whitney
from clew.graph.formats.read_files import read_files
from clew.graph.ops.flows.flows import Flows
from clew.query.api import Run
from clew.records.run.directory import RunInfo

PERIODS = ("healthy-0129", "healthy-0130")
TRACES = "latency, spans only"
ASKED = {"latency": (0.85, 0.97), TRACES: (0.80, 0.95), "structural": (0.75, 0.92)}
HEALTHY_BITS = 3.0
"""Goal: the first suspect of healthy requests against healthy ones has fewer bits."""
FEW, MANY = 4, 20
"""Visits that go wrong."""
ROWS = (
    *KINDS, "exception speaks", "exception silent", "return speaks", "return silent", "2-4 visits", "5-20 visits",
    "more visits", "steady", "late", "not to be seen", "another day", *ASKED, "structural, spans only",
)  # fmt: skip


def flows_of(folder: Path, name: str) -> Flows:
    files = [folder / f"{name}.jsonl.gz", folder / f"{name}-logs.jsonl.gz"]
    graph = read_files(RunInfo(f"20200101-000000-{name}", name, [], "/", "/", "", 0), files).graph
    return Flows.of(Run(graph.info, folder, [], graph))


def rows_of(case: Case) -> list[str]:
    if not case.same_day:
        return ["another day"]
    rows = [case.kind, "late" if case.onset else "steady"]
    if case.trace is None:
        return [*rows, "latency"]
    if case.trace == "none":
        return ["not to be seen"]
    many = "2-4" if case.visits <= FEW else "5-20" if case.visits <= MANY else "more"
    return [*rows, f"{case.kind} {case.trace}", f"{many} visits", "structural"]


def largest_shift(case: Case) -> list[str]:
    """By the growth of the time in a service's own calls, per request of the period."""
    sides = two_sides(case.reference, case.suspect)
    totals = [
        np.bincount(side.service, side.times["work"], len(sides.services)) / len(side.flows) for side in sides.both
    ]
    return [sides.services[place] for place in np.argsort(totals[0] - totals[1], kind="stable")]


def smallest_p(case: Case) -> list[str]:
    sides = two_sides(case.reference, case.suspect)
    p = [_p(sides, place) for place in range(len(sides.services))]
    return [sides.services[place] for place in np.argsort(p, kind="stable")]


def _p(sides: Sides, place: int) -> float:
    parts = []
    for side in sides.both:
        calls = np.flatnonzero(side.service == place)
        parts.append(mean_by_request(side.request[calls], side.times["work"][calls]))
    if not all(len(part) for part in parts):
        return 1.0
    ranked = mann_whitney(*(Samples(part, np.array([0, len(part)])) for part in parts))
    return float(ranked.p[0]) if ranked.delta[0] > 0 else 1.0


def bounds(share: float, many: int) -> tuple[float, float]:
    """That a share of so many cases lies in, at 95 %."""
    z = 1.96
    middle = (share + z * z / (2 * many)) / (1 + z * z / many)
    half = z * np.sqrt(share * (1 - share) / many + z * z / (4 * many * many)) / (1 + z * z / many)
    return middle - half, middle + half


PEERS: dict[str, Callable[[Case], list[str]]] = {
    "largest shift of self time": largest_shift, "Mann-Whitney on self time": smallest_p,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=12, help="of each kind, half and seed (default: 12)")
    parser.add_argument("--seed", type=int, nargs="+", default=[0], help="where blocks of seeds begin (default: 0)")
    parser.add_argument("--half", choices=("tuning", "judging"), help="only this half (default: both)")
    options = parser.parse_args()
    folder = Path(os.environ.get("CLEW_SHARED_DATA", "")) / "trainticket"
    if not (folder / f"{PERIODS[0]}.jsonl.gz").exists():
        sys.exit("CLEW_SHARED_DATA names no folder with trainticket/healthy-0129.jsonl.gz")
    periods = [flows_of(folder, name) for name in PERIODS]
    rows = []
    for half in ("tuning", "judging") if options.half is None else (options.half,):
        seeds = [first + number for first in options.seed for number in range(2 * options.cases)]
        print(f"== faults for {half}")
        rows += measure(periods, [seed for seed in seeds if half_of(seed) == half], half)
    for before, after in (periods, periods[::-1]):
        for of, (one, other) in (("", (before, after)), (", spans only", (without_logs(before), without_logs(after)))):
            name = f"{after.runs[0].info.name} against {before.runs[0].info.name}{of}"
            rows.append(healthy_row(name, first_score(other, one)))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(json.dumps({"benchmark": "localize", "machine": machine, "rows": rows}))


def measure(periods: list[Flows], seeds: list[int], half: str) -> list[dict[str, object]]:
    """Print how the faults of some seeds are ranked, and return it as rows."""
    ranks: dict[tuple[str, str], list[int]] = defaultdict(list)
    scores: dict[str, list[float]] = {"faulty": [], "healthy": []}
    used = 0.0
    for case in (make_case(periods, kind, seed) for kind in KINDS for seed in seeds):
        start = time.process_time()
        suspects = localize(case.suspect, case.reference).suspects
        used += time.process_time() - start
        found = {"clew": [suspect.service for suspect in suspects]}
        found |= {name: method(case) for name, method in PEERS.items()}
        for name, services in found.items():
            for of in rows_of(case):
                ranks[name, of].append(rank_of(case, services))
        if case.same_day and case.trace != "none":
            of = TRACES if case.kind in LATENCY else "structural, spans only"
            spans = localize(without_logs(case.suspect), without_logs(case.reference)).suspects
            ranks["clew", of].append(rank_of(case, [suspect.service for suspect in spans]))
            for name in PEERS:
                ranks[name, of].append(rank_of(case, found[name]))
        if suspects and suspects[0].service == case.service and case.same_day:
            scores["faulty"].append(suspects[0].score)
    scores["healthy"] = [
        first_score(after, before) for before, after in (make_healthy(periods, seed) for seed in seeds)
    ]
    rows: list[dict[str, object]] = []
    for of in (row for row in ROWS if ("clew", row) in ranks):
        shares = {name: [np.mean(np.array(ranks[name, of]) <= most) for most in (1, 3)] for name in ("clew", *PEERS)}
        many = len(ranks["clew", of])
        told = "; ".join(f"{name} {one:.0%} first, {three:.0%} in three" for name, (one, three) in shares.items())
        sure = [f"{low:.0%} to {high:.0%}" for low, high in (bounds(share, many) for share in shares["clew"])]
        goal = " (asked {:.0%}, {:.0%})".format(*ASKED[of]) if of in ASKED else ""
        print(f"{of:>16}, {many} cases: {told}; clew at 95 %: {', '.join(sure)}{goal}")
        for number, what in enumerate(("first", "in the first three")):
            asked = ASKED[of][number] if of in ASKED else None
            mine, peer = (round(float(shares[name][number]), 3) for name in ("clew", "largest shift of self time"))
            rows.append(
                {
                    "name": f"{of} faults {what}, {half}", "unit": "share of made faults", "ours": mine,
                    "peer": "largest shift of self time", "peer_value": peer, "asked": asked,
                    "met": asked is None or mine >= asked,
                }
            )  # fmt: skip
    for of, bits in scores.items():
        low, middle, high = np.quantile(bits, (0.1, 0.5, 0.9))
        print(f"{of}: score of the first suspect {middle:.1f} bits ({low:.1f} to {high:.1f}, most {max(bits):.1f})")
    rows.append(healthy_row(f"healthy requests with errors of other causes, {half}, highest 10 %", float(high)))
    print(f"{1000 * used / (len(KINDS) * len(seeds)):.0f} ms of a processor per localisation")
    return rows


def rank_of(case: Case, services: list[str]) -> int:
    return services.index(case.service) + 1 if case.service in services else len(services) + 1


def first_score(suspect: Flows, reference: Flows) -> float:
    return max((found.score for found in localize(suspect, reference).suspects), default=0.0)


def healthy_row(name: str, bits: float) -> dict[str, object]:
    print(f"{name}: {bits:.1f} bits (asked: fewer than {HEALTHY_BITS:g})")
    return {
        "name": name, "unit": "bits of the first suspect", "ours": round(bits, 2), "asked": HEALTHY_BITS,
        "met": bits < HEALTHY_BITS,
    }  # fmt: skip


if __name__ == "__main__":
    main()
