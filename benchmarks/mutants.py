"""Measure how often clew names the function of a mutant: real packages with one small edit each, and a test that fails.

Each mutant's test file runs with coverage.py and under `pytest --clew`. Then `clew why --test` is asked for the suspects of one
failed test, without and with a second look, and compared with the test's traceback, its call tree, and Ochiai over lines. A
function that a list does not contain has no rank. Without `--full` the first mutants of each package are measured.

The mutants are listed in `benchmarks/mutant_lists/`, of packages for tuning and of packages for judging. `--search` makes
the lists again; it prints its seed. One mutant to work with: `--one ID --keep` leaves the mutated package in
`.cache/mutants/kept/ID`, and prints what was edited and the command of its failing test.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from mutation.measures import Measured, look_rows, look_table, measure_all, package_table, pair_table, rows, table
from mutation.packages import PACKAGES, packages
from mutation.packages import package as package_of
from mutation.rankings import NEVER
from mutation.search import Mutant, load, save, search
from mutation.set_up import CACHE, checkout, fetched
from recording.report import machine

EXAMPLES = """examples:
  python benchmarks/mutants.py --judging                    a sample of the packages for judging, about ten minutes
  python benchmarks/mutants.py --tuning --full              all mutants of the packages for tuning
  python benchmarks/mutants.py --list                       the ids, with kind, function and failing test
  python benchmarks/mutants.py --one click-001 --keep       leave one mutant and print its test's command
  python benchmarks/mutants.py --search --tuning            choose the mutants of the tuning packages again
"""
LISTS = Path(__file__).parent / "mutant_lists"
WANTED = 40
SEED = 23
SAMPLE = 8
"""The mutants of each package that are measured without `--full`."""
JOBS = 2


def listed(names: list[str]) -> list[Mutant]:
    """Return the listed mutants of packages."""
    return [mutant for name in names if (path := LISTS / f"{name}.json").exists() for mutant in load(path)]


def search_all(names: list[str], wanted: int, seed: int) -> None:
    print(f"seed {seed}, up to {wanted} mutants a package", flush=True)
    for name in names:
        package = package_of(name)
        with tempfile.TemporaryDirectory(prefix="clew-mutants-", ignore_cleanup_errors=True) as folder:
            try:
                found = search(package, checkout(package, Path(folder, name)), wanted, seed)
            except OSError as error:
                print(f"{name}: {error}", flush=True)
                continue
        save(found, LISTS / f"{name}.json")
        wrong = sum(one.wrong_value for one in found)
        print(f"{name}: {len(found)} mutants, {wrong} wrong values", flush=True)


def show(mutant: Mutant) -> None:
    kind = "wrong value" if mutant.wrong_value else "crash"
    print(f"{mutant.id:20} {mutant.edit.kind:15} {kind:12} {mutant.file}:{mutant.edit.line} {mutant.edit.function}")
    print(f"{'':20} {mutant.test} ({mutant.failing} of {mutant.tests} tests fail)")


def set_up_one(mutant: Mutant, *, keep: bool) -> None:
    """Make the checkout of one mutant, run its test, and print how to do it by hand."""
    folder = CACHE / "kept" / mutant.id
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = checkout(package_of(mutant.package), folder)
    mutant.apply(made)
    show(mutant)
    print(f"\n- {mutant.edit.old}\n+ {mutant.edit.new}\n")
    session = made.run(mutant.test)
    print(f"the test: {session.outcomes.get(mutant.test) if session else 'did not end'}")
    if not keep:
        shutil.rmtree(folder)
        return
    own = ("PYTHONPATH", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE")
    variables = " ".join(f"{name}={shlex.quote(made.environment()[name])}" for name in own)
    print(f"cd {made.folder}")
    for words in ((mutant.test,), ("--clew", mutant.test_file)):
        print(f"{variables} {shlex.join(made.pytest(*words))}")
    print(f"{shlex.join([sys.executable, '-m', 'clew', 'why', '--test', mutant.test])}")


def shown(one: Measured) -> None:
    ranks = "  ".join(f"{method}: {rank:g}" for method, rank in one.ranks.items())
    print(f"{one.mutant.id:20} {ranks} {one.problem}", flush=True)


def report(measured: list[Measured], total: int) -> None:
    """Print the tables, and the figures as one line of JSON. The ranks stay in the cache."""
    if not measured:
        sys.exit("no mutant was measured: --search makes the lists")
    ranks = [
        {
            "id": one.mutant.id,
            "problem": one.problem,
            "line": None if one.line_rank == NEVER else one.line_rank,
            "chain": one.is_in_chain,
            "chains": one.is_in_chains,
            "ran": one.line_ran,
            "seconds": None if math.isnan(one.seconds) else round(one.seconds, 2),
            "ranks": {method: None if rank == NEVER else rank for method, rank in one.ranks.items()},
        }
        for one in measured
    ]
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "ranks.json").write_text(json.dumps(ranks), encoding="utf-8")
    print(f"\n`benchmarks/mutants.py`, {machine()}: {len(measured)} mutants, {total - len(measured)} not measured\n")
    for lines in (table(measured), look_table(measured), pair_table(measured), package_table(measured)):
        print("\n".join(lines) + "\n")
    print(json.dumps({"benchmark": "mutants", "machine": machine(), "rows": [*rows(measured), *look_rows(measured)]}))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("packages", nargs="*", help="default: all of those that are asked for")
    parser.add_argument("--tuning", action="store_true", help="only the packages that clew is tuned with")
    parser.add_argument("--judging", action="store_true", help="only the packages that clew is judged by")
    parser.add_argument("--full", action="store_true", help="measure all mutants, not a sample")
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many mutants are measured at a time")
    parser.add_argument("--list", action="store_true", help="print the mutants")
    parser.add_argument("--one", metavar="ID", help="set up one mutant")
    parser.add_argument("--keep", action="store_true", help="with --one: leave the mutated package")
    parser.add_argument("--search", action="store_true", help="choose the mutants again")
    parser.add_argument("--wanted", type=int, default=WANTED, help="with --search: the most mutants of a package")
    parser.add_argument("--seed", type=int, default=SEED, help="with --search")
    options = parser.parse_args()
    every = [one.name for one in PACKAGES]
    if unknown := sorted(set(options.packages) - set(every)):
        parser.error(f"no package is called {unknown[0]}: choose from {', '.join(every)}")
    chosen = packages("tuning") if options.tuning else packages("judging") if options.judging else PACKAGES
    names = options.packages or [one.name for one in chosen]
    if options.search:
        return search_all(names, options.wanted, options.seed)
    if options.one:
        found = {mutant.id: mutant for mutant in listed(every)}
        if options.one not in found:
            parser.error(f"no mutant is called {options.one}: --list prints them")
        return set_up_one(found[options.one], keep=options.keep)
    if options.list:
        for mutant in listed(names):
            show(mutant)
        return None
    sample = [one for name in names for one in listed([name])[: None if options.full else SAMPLE]]
    for name in names:
        fetched(package_of(name))
    measured = measure_all(sample, options.jobs, shown)
    return report([one for one in measured if one.ranks], len(sample))


if __name__ == "__main__":
    main()
