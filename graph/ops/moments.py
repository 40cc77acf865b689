"""The time that a line of a log file names: the only reader of timestamps.

A time without a zone may be local, as `logging` writes it unless told otherwise, or UTC: both are possible.
"""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import NamedTuple

NEAR_NS = 2_000_000_000
"""How far a line's time may be from its event's: handlers format late."""
MAX_WIDTH = 2000
"""Characters of a line that are looked at."""
_TIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)


class Moment(NamedTuple):
    """What a time can mean: from `first` up to `last`, wall-clock nanoseconds; the fewer digits, the longer."""

    first: int
    last: int

    def away(self, at: int) -> int:
        """Nanoseconds between it and a time, 0 inside it."""
        return max(self.first - at, at - self.last, 0)

    def near(self, at: int) -> bool:
        return self.away(at) <= NEAR_NS


def moments(line: str) -> list[Moment]:
    """With a zone one moment, without it local time and UTC; none for a line without a time."""
    match = _TIME.search(line[:MAX_WIDTH])
    if match is None:
        return []
    text, digits = f"{match['date']}T{match['time']}", match["fraction"] or ""
    try:
        if match["zone"]:
            found = [int(datetime.fromisoformat(text + match["zone"]).timestamp())]
        else:
            local = int(time.mktime(datetime.fromisoformat(text).timetuple()))
            found = [local, int(datetime.fromisoformat(text + "+00:00").timestamp())]
    except (ValueError, OverflowError):
        return []
    begin, length = int(digits.ljust(9, "0")), 10 ** (9 - len(digits))
    return [Moment(at * 10**9 + begin, at * 10**9 + begin + length - 1) for at in dict.fromkeys(found)]
