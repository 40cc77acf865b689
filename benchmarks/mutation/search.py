"""Choose mutants that tests notice: half of them compute wrong values, the others crash inside of the package.

A mutant counts if a test that passed before fails in its call phase, and if at most half of the tests of its file do. It is a
wrong value if no function of the package is in the traceback of the chosen test's failure: the test raised it.
The same seed chooses the same mutants, unless a slow machine makes a run exceed its time limit.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from mutation.operators import DELETED, Edit, edits
from mutation.packages import Package
from mutation.set_up import Checkout, Session

MOST_PER_FUNCTION = 2
MOST_LISTED = 5
"""The failing tests that a mutant's row names."""
TRIES = 12
"""The most candidates that are tried for each mutant that is asked for."""
COVERED_BY = 60
"""A line that more tests run is left out: its mutants fail nearly all of them."""
SEARCH_S = 15
"""A mutant that loops forever is given up; each of the tests takes less."""


@dataclass(frozen=True)
class Mutant:
    id: str
    package: str
    version: str
    file: str
    """Relative to the package's folder."""
    edit: Edit
    wrong_value: bool
    """False for a crash inside of the package."""
    test_file: str
    test: str
    """The failing test that is asked about: the one that runs the fewest lines of the package."""
    failing: int
    tests: int
    """How many tests of the file fail, and how many there are."""
    failing_tests: tuple[str, ...]
    """The first of them."""

    @property
    def deleted(self) -> bool:
        return self.edit.kind == DELETED

    def apply(self, checkout: Checkout) -> None:
        """Write the mutant into a checkout. Raise `ValueError` if its source is another one."""
        path = checkout.code / self.file
        path.write_bytes(self.edit.apply(path.read_bytes()))


def save(mutants: Iterable[Mutant], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(json.dumps(asdict(one), ensure_ascii=False) for one in mutants)
    path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def load(path: Path) -> list[Mutant]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [
        Mutant(**{**row, "edit": Edit(**row["edit"]), "failing_tests": tuple(row["failing_tests"])}) for row in rows
    ]


@dataclass(frozen=True)
class Candidate:
    file: str
    edit: Edit
    test_file: str
    tests: tuple[str, ...]
    """The passing tests of that file that run the line, the one with the fewest lines first."""


def search(package: Package, checkout: Checkout, wanted: int, seed: int) -> list[Mutant]:
    """Return up to `wanted` mutants of a package. Raise `OSError` if its tests do not run."""
    before = checkout.run(*package.tests, measure="lines", timeout=600)
    if before is None or "passed" not in before.outcomes.values():
        raise OSError(f"the tests of {package.name} do not run")
    sizes = Counter(test for lines in before.lines.values() for tests in lines.values() for test in tests)
    chance = random.Random(f"{seed} {package.name}")
    todo = _spread(list(_candidates(checkout, before, sizes, chance)), chance)
    found: list[Mutant] = []
    per_function: Counter[tuple[str, str]] = Counter()
    for tried, one in enumerate(todo[: wanted * TRIES]):
        if len(found) >= wanted:
            break
        if per_function[one.file, one.edit.function] >= MOST_PER_FUNCTION:
            continue
        mutant = _tried(package, checkout, before, one, len(found) + 1)
        if mutant is None or _share(found, wrong_value=mutant.wrong_value) >= -(-wanted // 2):
            continue
        found.append(mutant)
        per_function[one.file, one.edit.function] += 1
        kind = "wrong value" if mutant.wrong_value else "crash"
        print(f"  {mutant.id}: {one.edit.kind}, {kind}, {one.edit.function}, {mutant.failing} of {mutant.tests}"
              f" fail (candidate {tried})", file=sys.stderr, flush=True)  # fmt: skip
    return found


def _share(found: list[Mutant], *, wrong_value: bool) -> int:
    return sum(one.wrong_value == wrong_value for one in found)


def _candidates(checkout: Checkout, before: Session, sizes: Counter[str], chance: random.Random) -> Iterable[Candidate]:
    for file in sorted(before.lines):
        source = (checkout.code / file).read_bytes()
        if b"\r" in source:
            continue
        try:
            found = edits(source.decode(), chance)
        except (SyntaxError, UnicodeDecodeError):
            continue
        for edit in found:
            ran = [test for test in before.lines[file].get(edit.line, ()) if before.outcomes.get(test) == "passed"]
            if not 1 <= len(ran) <= max(COVERED_BY, len(before.outcomes) // 2):
                continue
            files = Counter(test.partition("::")[0] for test in ran)
            test_file = files.most_common(1)[0][0]
            own = sorted(
                (test for test in ran if test.startswith(f"{test_file}::")), key=lambda test: (sizes[test], test)
            )
            yield Candidate(file, edit, test_file, tuple(own))


def _spread(candidates: list[Candidate], chance: random.Random) -> list[Candidate]:
    """Order candidates by chance, the kinds in turns; deleted statements have two turns."""
    chance.shuffle(candidates)
    turns: Counter[str] = Counter()
    ordered: list[tuple[float, int, Candidate]] = []
    for number, one in enumerate(candidates):
        kind = one.edit.kind
        ordered.append((turns[kind] / (2 if kind == DELETED else 1), number, one))
        turns[kind] += 1
    return [one for _, _, one in sorted(ordered, key=lambda it: it[:2])]


def _tried(package: Package, checkout: Checkout, before: Session, one: Candidate, number: int) -> Mutant | None:
    """Run the tests that run the mutated line; None if the mutant does not count."""
    path = checkout.code / one.file
    source = path.read_bytes()
    path.write_bytes(one.edit.apply(source))
    try:
        after = checkout.run(*one.tests[:COVERED_BY], timeout=SEARCH_S)
    finally:
        path.write_bytes(source)
    if after is None or not after.failed:
        return None
    of_file = [test for test in before.outcomes if test.startswith(f"{one.test_file}::")]
    failing = len(after.failed)
    if failing > len(of_file) / 2 or len(of_file) < 2 or "error" in after.outcomes.values():
        return None
    asked = min(after.failed, key=one.tests.index)
    return Mutant(
        f"{package.name}-{number:03d}", package.name, package.version, one.file, one.edit, not after.raised[asked],
        one.test_file, asked, failing, len(of_file), tuple(after.failed[:MOST_LISTED]),
    )  # fmt: skip
