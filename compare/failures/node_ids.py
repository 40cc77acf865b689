"""Find a test by its id, or by the unique end of it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

from clew.records.errors import ClewError

NEAR = 4
_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)


class UnknownTest(ClewError):
    """No test, or more than one, has the id."""

    exit_code = 1


def find_node(nodes: Iterable[str], asked: str, failed: Collection[str] = ()) -> str:
    """Return the id of a test.

    `asked` is the id, its end at a `/`, `::` or word, or the id without its parameters; a longer path than the id's fits,
    too. Of several tests that fit, the only one of `failed` is taken. Raises `UnknownTest`.
    """
    known = list(dict.fromkeys(nodes))
    # A backslash in the path separates folders; one in the parameters is theirs.
    path, bracket, parameters = asked.strip().partition("[")
    asked = (path.replace("\\", "/") + bracket + parameters).removeprefix("./")
    if asked in known:
        return asked
    fitting = [node for node in known if fits(node, asked)] if asked else []
    if len(fitting) > 1:
        fitting = [node for node in fitting if node in failed] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        more = f", … ({len(fitting) - NEAR:,} more)" if len(fitting) > NEAR else ""
        raise UnknownTest(
            f"{len(fitting):,} tests are called {asked!r}: {', '.join(fitting[:NEAR])}{more}; give more of the id"
        )
    if not known:
        raise UnknownTest("the run has no tests; record them with `pytest --clew`")
    near = _near(known, asked, failed)
    raise UnknownTest(f"no test of the run is called {asked!r}; the nearest: {', '.join(near)}")


def fits(node: str, asked: str) -> bool:
    """Return whether a test is meant by a part of its id."""
    for whole in (node, _PARAMETERS.sub("", node)):
        if whole == asked or whole.endswith((f"/{asked}", f"::{asked}")) or asked.endswith(f"/{whole}"):
            return True
    return False


def _near(known: list[str], asked: str, failed: Collection[str]) -> list[str]:
    """Return the ids that are most like the asked one; failed tests come first."""
    ends = {node: node.rpartition("::")[2] for node in known}
    last = asked.rpartition("::")[2]
    alike = difflib.get_close_matches(last, list(dict.fromkeys(ends.values())), NEAR, 0.5)
    found = [node for end in alike for node in known if ends[node] == end]
    found = found or [node for node in known if node in failed] or known
    return sorted(found[: 10 * NEAR], key=lambda node: node not in failed)[:NEAR]
