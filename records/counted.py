"""Functions that ran too often for the budget, so that some of their calls were only counted: which, and how many calls.

A recording's note in `run.json` tells of them, whoever ended it, so that `clew runs` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from clew.records.found import ProcessRecords

SHOWN = 5


def counted_calls(processes: Iterable[ProcessRecords]) -> dict[str, int]:
    """Calls that were only counted, by `module:qualname`, in the order of the names."""
    calls: Counter[str] = Counter()
    for process in processes:
        for number, count in process.counters.items():
            site = process.sites.get(number)
            if site is not None:
                calls[f"{site.module}:{site.qualname}"] += count
    return dict(sorted(calls.items()))


def only_counted(calls: Mapping[str, int]) -> str:
    """Which functions, and how many of their calls, as a sentence."""
    shown = ", ".join(f"{name} ({count:,} calls)" for name, count in list(calls.items())[:SHOWN])
    more = ", …" if len(calls) > SHOWN else ""
    functions = "1 function" if len(calls) == 1 else f"{len(calls):,} functions"
    were = "was" if len(calls) == 1 else "were"
    return f"{functions} ran too often for the budget and {were} only counted for a time: {shown}{more}"
