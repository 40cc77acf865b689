"""Read the time that a line of a log names. This is the only module that parses timestamps.

Invariant: missing parts of a time (its zone, day or year) are never resolved by a single guess. Every fitting meaning
is returned, and the run with an event at one of them decides.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from typing import NamedTuple

NEAR_NS = 2_000_000_000
"""The maximum distance of a line's time from its event's time, because handlers format late."""
GUESSED_NEAR_NS = 50_000_000
"""The maximum distance if the zone is guessed."""
MAX_WIDTH = 2000
"""The number of characters of a line that are examined."""
SECOND, DAY = 10**9, 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()
_DAYS_AT_MOST = 400
"""The maximum length of a run, in days, for which a time without a day has a meaning."""
_NAMES = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_MONTHS = {name.lower(): number for number, name in enumerate(_NAMES.split("|"), 1)}
_MON = rf"(?P<mon>{_NAMES})"
_FRACTION = r"(?:[.,](?P<f>\d{1,9}))?"
_CLOCK = rf"(?P<h>\d\d?):(?P<m>[0-5]\d):(?P<s>[0-5]\d|60){_FRACTION}(?!\d|:\d)(?:\s?(?P<half>[AP]M)\b)?"
_ZONE = r"(?:(?P<utc>\s?(?:Z|UTC|GMT)\b)|\s?(?P<zone>[+-]\d\d:?\d\d)\b|(?P<hours>[+-]\d\d)\b)?"
_APART = r"(?<!\d)"
_FORMS = (
    # 2026-11-21 13:05:44,357   2026/11/21T13:05:44Z
    rf"{_APART}(?P<y>\d{{4}})(?P<_>[-/.])(?P<mo>\d\d)(?P=_)(?P<d>\d\d)(?:T|_|[ ,]{{1,2}}){_CLOCK}{_ZONE}",
    # 21/Nov/2026:13:05:44 +0100   21 Nov 2026 13:05:44
    rf"{_APART}(?P<d>\d\d?)[ /-]{_MON}[ /-](?P<y>\d{{4}})[ :]{{1,2}}{_CLOCK}{_ZONE}",
    # Nov 21 13:05:44   Sat Nov 21 13:05:44 2026
    rf"\b{_MON} {{1,2}}(?P<d>\d\d?)(?:,? (?P<y>\d{{4}}),?)? {_CLOCK}{_ZONE}(?: (?P<late>\d{{4}})\b)?",
    # 11/21/2026 01:05:44 PM   21.11.2026 13:05:44   11/21/26 13:05:44
    rf"{_APART}(?P<a>\d\d?)(?P<_>[/.-])(?P<b>\d\d?)(?P=_)(?P<y>\d{{4}}|\d\d),?[ T]{_CLOCK}{_ZONE}",
    # 20261121T130544Z
    rf"{_APART}(?P<y>(?:19|20)\d\d)(?P<mo>[01]\d)(?P<d>[0-3]\d)[T ](?P<h>\d\d):?(?P<m>[0-5]\d):?(?P<s>[0-5]\d|60)"
    rf"{_FRACTION}(?!\d){_ZONE}",
    # I1121 13:05:44.357921
    rf"(?<!\w[IWEFCDV])(?<=[IWEFCDV])(?P<mo>[01]\d)(?P<d>[0-3]\d) {_CLOCK}",
    # 13:05:44,357
    rf"{_APART}(?<!\d[:.]){_CLOCK}",
)
_SINCE_1970 = (
    r'(?:^[\[(<"]?|\b(?:ts|time|timestamp|created|when|asctime)"?\s?[=:]\s?"?)'
    r"(?P<epoch>[1-4]\d{9}(?:\d{3}){0,3})(?:\.(?P<part>\d{1,9}))?(?![\w.:-]\d)\b"
)
"""Seconds or fractions of seconds, at the beginning of a line or in a field that is named as a time."""


def _numbered(form: str, number: int) -> str:
    """Append the number to the group names of a pattern, because group names must be unique across all patterns."""
    return re.sub(r"\(\?P([<=])(\w+)", rf"(?P\1\g<2>{number}", form)


_TIME = re.compile("|".join([*(_numbered(form, n) for n, form in enumerate(_FORMS)), _SINCE_1970]), re.IGNORECASE)
_ZONES = (
    *(3600 * hours for hours in range(-12, 15)),
    *(1800 * halves for halves in (-19, -7, 7, 9, 11, 13, 19, 21)),
    *(900 * quarters for quarters in (23, 35, 51)),
)
"""The zones in use, in seconds east of Greenwich."""


class Moment(NamedTuple):
    """A possible meaning of a time: from `first` up to `last` in wall-clock nanoseconds.

    Fewer digits give a longer interval.
    """

    first: int
    last: int
    guessed: bool = False
    """Whether the zone is named neither by the line nor by this machine."""

    def away(self, at: int) -> int:
        """Return the nanoseconds between the interval and a time, 0 inside the interval."""
        return max(self.first - at, at - self.last, 0)

    @property
    def margin(self) -> int:
        return GUESSED_NEAR_NS if self.guessed else NEAR_NS

    def near(self, at: int) -> bool:
        return self.away(at) <= self.margin

    def meets(self, span: tuple[int, int]) -> bool:
        """Return whether the interval is near some time of a span."""
        return self.first - self.margin <= span[1] and span[0] <= self.last + self.margin


class Stamp(NamedTuple):
    """A time in a line, at its characters `begin` up to `end`."""

    begin: int
    end: int
    days: tuple[tuple[int | None, int, int], ...]
    """Year, month and day in each possible reading; empty for a time without a date."""
    of_day: int
    """Nanoseconds since midnight, or since 1970 if `epoch` is set."""
    length: int
    """The nanoseconds that one unit of the last digit represents."""
    zone: int | None
    """The zone in seconds east of Greenwich, None if the line does not name one."""
    epoch: bool = False

    def moments(self, around: tuple[int, int] | None = None) -> list[Moment]:
        """Return the possible meanings, likeliest first: local time and UTC if the line does not name a zone.

        `around` is the interval in which a run was recorded. It supplies a missing day and year, and the other zones
        that are possible.
        """
        if self.epoch:
            return [Moment(self.of_day, self.of_day + self.length - 1)]
        days = list(self._ordinals(around))
        found: dict[int, Moment] = {}
        for day in days:
            at = (day - _EPOCH) * DAY + self.of_day
            for shift in [-self.zone] if self.zone is not None else _here(day, self.of_day):
                first = at + shift * SECOND
                found.setdefault(first, Moment(first, first + self.length - 1))
        if self.zone is None and around is not None:
            for day in days:
                for zone in _ZONES:
                    first = (day - _EPOCH) * DAY + self.of_day - zone * SECOND
                    guess = Moment(first, first + self.length - 1, guessed=True)
                    if first not in found and guess.meets(around):
                        found[first] = guess
        incomplete = not self.days or any(year is None for year, _, _ in self.days)
        return [one for one in found.values() if not incomplete or (around is not None and one.meets(around))]

    def _ordinals(self, around: tuple[int, int] | None) -> Iterator[int]:
        """Return the possible days as ordinals."""
        first, last = ((at // DAY + _EPOCH) for at in around) if around else (1, 0)
        if not self.days and last - first <= _DAYS_AT_MOST:
            yield from range(first - 1, last + 2)
        for year, month, day in self.days:
            years: Iterable[int] = [year] if year is not None else []
            if year is None and around:
                years = range(date.fromordinal(first).year - 1, date.fromordinal(last).year + 2)
            for one in years:
                try:
                    yield date(one, month, day).toordinal()
                except ValueError:
                    continue  # February 29 in a year that is not a leap year


def _here(day: int, of_day: int) -> list[int]:
    """Return the seconds to add to get UTC, first for local time of this machine, then for UTC."""
    try:
        plain = datetime.fromordinal(day).replace(hour=of_day // SECOND // 3600, minute=of_day // SECOND // 60 % 60)
        local = int(time.mktime(plain.timetuple()))
    except (ValueError, OverflowError):
        return [0]
    shift = local - ((day - _EPOCH) * 86_400 + of_day // SECOND // 60 * 60)
    return [shift, 0]


def stamps(line: str) -> list[Stamp]:
    """Return the times in a line, in their order."""
    return [stamp for match in _TIME.finditer(line[:MAX_WIDTH]) if (stamp := _stamp(match)) is not None]


def moments(line: str, around: tuple[int, int] | None = None) -> list[Moment]:
    """Return the possible meanings of a line's first time, see `Stamp.moments`; empty for a line without a time."""
    found = stamps(line)
    return found[0].moments(around) if found else []


def _stamp(match: re.Match[str]) -> Stamp | None:
    groups = match.groupdict()
    if groups["epoch"]:
        digits, part = groups["epoch"], groups["part"] or ""
        at = int((digits + part).ljust(19, "0")[:19])
        return Stamp(match.start("epoch"), match.end(), (), at, 10 ** max(19 - len(digits + part), 0), 0, epoch=True)
    number = next(number for number in range(len(_FORMS)) if groups[f"h{number}"])

    def get(name: str) -> str:
        return groups.get(f"{name}{number}") or ""

    hour, fraction = int(get("h")), get("f")
    if half := get("half").upper():
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "PM" else 0)
    if hour > 23:
        return None
    of_day = ((hour * 60 + int(get("m"))) * 60 + int(get("s"))) * SECOND + int(fraction.ljust(9, "0"))
    days: list[tuple[int | None, int, int]] = []
    year = int(get("y") or get("late") or 0) or None
    if get("a"):
        assert year is not None
        year += 2000 if year < 100 else 0
        a, b = int(get("a")), int(get("b"))
        days = [(year, month, day) for month, day in dict.fromkeys([(a, b), (b, a)]) if month <= 12 and 1 <= day <= 31]
    elif get("d"):
        month = _MONTHS[get("mon").lower()] if get("mon") else int(get("mo"))
        days = [(year, month, int(get("d")))]
    if not all(_is_day(*day) for day in days) or (not days and number != len(_FORMS) - 1):
        return None
    return Stamp(match.start(), match.end(), tuple(days), of_day, 10 ** (9 - len(fraction)), _zone(get))


def _zone(get: Callable[[str], str]) -> int | None:
    if get("utc"):
        return 0
    digits = (get("zone") or get("hours")).replace(":", "")
    if not digits:
        return None
    seconds = int(digits[1:3]) * 3600 + int(digits[3:] or 0) * 60
    return -seconds if digits[0] == "-" else seconds


def _is_day(year: int | None, month: int, day: int) -> bool:
    try:
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True
