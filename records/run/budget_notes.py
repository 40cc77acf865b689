"""List functions that exceeded the budget, so that some calls were only counted, with the numbers of those calls.

A recording's note in `run.json` contains them, whichever process finished the run, so that `clew runs` shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from clew.records.read.process_records import ProcessRecords

SHOWN = 5


def counted_calls(processes: Iterable[ProcessRecords]) -> dict[str, int]:
    """Return the number of counted calls by `module:qualname`, sorted by name."""
    calls: Counter[str] = Counter()
    for process in processes:
        for number, count in process.counters.items():
            site = process.sites.get(number)
            if site is not None:
                calls[f"{site.module}:{site.qualname}"] += count
    return dict(sorted(calls.items()))


def only_counted(calls: Mapping[str, int]) -> str:
    """Describe the functions and the numbers of their calls in a sentence."""
    shown = ", ".join(f"{name} ({count:,} calls)" for name, count in list(calls.items())[:SHOWN])
    more = ", …" if len(calls) > SHOWN else ""
    functions = "1 function" if len(calls) == 1 else f"{len(calls):,} functions"
    were = "was" if len(calls) == 1 else "were"
    return f"{functions} ran too often for the budget and {were} only counted for a time: {shown}{more}"
