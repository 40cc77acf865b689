"""How numbers, times and places are said to people; the editor, the panel's texts and the terminal use the same words."""

from __future__ import annotations

import os
import re
import time


def duration(ns: float) -> str:
    """`0.84 µs`, `1.2 ms`, `3.4 s`, `2 min 05 s`: three significant digits at most."""
    sign, value = ("-", -ns) if ns < 0 else ("", ns)
    if value < 1_000:
        return f"{sign}{value:.0f} ns"
    for bound, divisor, unit in ((1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (6e10, 1e9, "s")):
        # What would be rounded up to 1000 of a unit is one of the next.
        if value < bound * 0.9995 or unit == "s":
            if value >= 6e10:
                break
            return f"{sign}{_digits(value / divisor)} {unit}"
    minutes, seconds = divmod(round(value / 1e9), 60)
    return f"{sign}{minutes} min {seconds:02d} s"


def count(number: int, noun: str) -> str:
    """`1 event`, `12,345 events`, `2 processes`."""
    if number == 1:
        return f"1 {noun}"
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith(("s", "x", "ch")) else "s")
    return f"{number:,} {plural}"


def roughly(number: float) -> str:
    """`812`, `12 k`, `1.2 M`: two digits that matter."""
    for bound, divisor, unit in ((1e4, 1, ""), (1e6, 1e3, " k"), (1e9, 1e6, " M"), (float("inf"), 1e9, " G")):
        if number < bound * 0.9995:
            value = number / divisor
            return f"{value:,.0f}{unit}" if unit == "" or value >= 9.95 else f"{value:.1f}{unit}"
    return f"{number:.1e}"


def percent(share: float) -> str:
    """`12 %`, `0.4 %`; `<0.1 %` for what is there but tiny."""
    value = share * 100
    if 0 < value < 0.1:
        return "<0.1 %"
    return f"{value:.1f} %" if value < 10 and round(value, 1) != round(value) else f"{value:.0f} %"


def size(number: int) -> str:
    value = float(number)
    for unit in ("B", "KB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GB"


def when(started_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(started_ns / 1e9))


def offset(ns: float) -> str:
    """A time since the run's start, in a column: `+0.012345 s`."""
    return f"{ns / 1e9:+.6f} s"


def library_place(path: str) -> str:
    """`<stdlib>/asyncio/events.py` and `<site-packages>/flask/app.py` for files of those, of whichever Python; else ""."""
    found = _LIBRARY.search(path)
    return f"<{'site-packages' if found[1] else 'stdlib'}>/{found[2]}" if found else ""


def place(path: str, line: int, base: str | None = None) -> str:
    """`chunkstore/index.py:42`, relative to `base` (the working directory) when it lies below it; see `library_place`."""
    if not path:
        return ""
    base = base or os.getcwd()
    shown = library_place(path)
    if shown:
        return f"{shown}:{line}" if line > 0 else shown
    shown = path
    try:
        relative = os.path.relpath(path, base)
        shown = relative if not relative.startswith(os.pardir) else path
    except ValueError:
        pass  # another drive
    return f"{shown}:{line}" if line > 0 else shown


def within(folder: str | os.PathLike[str], text: str) -> str:
    """The text with the paths below a folder, a run's, relative to it: its reader knows which run it is about."""
    return text.replace(os.path.join(os.fspath(folder), ""), "")


def short_label(label: str) -> str:
    """`Class.method` or `module.function` of `pkg.module:qualname`: what fits a line and still tells functions apart."""
    module, _, qualname = label.partition(":")
    if not qualname:
        return label
    qualname = qualname.replace(".<locals>", "")
    # A package's __main__ is known by the package's name.
    return qualname if "." in qualname else f"{module.removesuffix('.__main__').rpartition('.')[2]}.{qualname}"


def printable(text: str) -> str:
    """The text with its control characters spelt out: a recorded message must not move the reader's cursor."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


_LIBRARY = re.compile(
    r"[\\/](?:lib(?:64)?[\\/]python3[^\\/]*|Python3\d*\\Lib|Lib(?=\\site-p))[\\/]((?:site|dist)-packages[\\/])?(.+)"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _digits(value: float) -> str:
    return (
        f"{value:.0f}"
        if value >= 99.95
        else f"{value:.1f}"
        if value >= 9.995
        else f"{value:.2f}".rstrip("0").rstrip(".")
    )
