"""Texts for numbers, times and places; the editor, the panel and the terminal use the same forms."""

from __future__ import annotations

import os
import re
import time

from clew.graph.render.library import library_place


def duration(ns: float) -> str:
    """Format a duration with up to three significant digits: `0.84 µs`, `1.2 ms`, `3.4 s`, `2 min 05 s`."""
    sign, value = ("-", -ns) if ns < 0 else ("", ns)
    if value < 1_000:
        return f"{sign}{value:.0f} ns"
    for bound, divisor, unit in ((1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (6e10, 1e9, "s")):
        # Values that would round up to 1000 use the next unit.
        if value < bound * 0.9995 or unit == "s":
            if value >= 6e10:
                break
            return f"{sign}{_digits(value / divisor)} {unit}"
    minutes, seconds = divmod(round(value / 1e9), 60)
    return f"{sign}{minutes} min {seconds:02d} s"


def count(number: int, noun: str) -> str:
    """Format a count with its noun: `1 event`, `12,345 events`, `2 processes`."""
    if number == 1:
        return f"1 {noun}"
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith(("s", "x", "ch")) else "s")
    return f"{number:,} {plural}"


def listed(parts: list[str]) -> str:
    """Join parts of a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def roughly(number: float) -> str:
    """Format a number with two significant digits: `812`, `12 k`, `1.2 M`."""
    for bound, divisor, unit in ((1e4, 1, ""), (1e6, 1e3, " k"), (1e9, 1e6, " M"), (float("inf"), 1e9, " G")):
        if number < bound * 0.9995:
            value = number / divisor
            return f"{value:,.0f}{unit}" if unit == "" or value >= 9.95 else f"{value:.1f}{unit}"
    return f"{number:.1e}"


def percent(share: float) -> str:
    """Format a share: `12 %`, `0.4 %`; `<0.1 %` for smaller positive shares."""
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
    """Format a time since the run's start, for a column: `+0.012345 s`."""
    return f"{ns / 1e9:+.6f} s"


def place(path: str, line: int, base: str | None = None) -> str:
    """Format a location, `chunkstore/index.py:42`, relative to `base` (the working directory) if it is below it; see
    `library_place`."""
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
    """Return the text with paths below a folder (of a run) made relative, for readers who know the run."""
    return text.replace(os.path.join(os.fspath(folder), ""), "")


def short_label(label: str) -> str:
    """Shorten `pkg.module:qualname` to `Class.method` or `module.function`, which fits a line and still distinguishes
    functions."""
    module, _, qualname = label.partition(":")
    if not qualname:
        return label
    qualname = qualname.replace(".<locals>", "")
    # Show the package's name for its __main__.
    return qualname if "." in qualname else f"{module.removesuffix('.__main__').rpartition('.')[2]}.{qualname}"


def printable(text: str) -> str:
    """Escape the control characters of a text, so that a recorded message cannot control the reader's terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _digits(value: float) -> str:
    return (
        f"{value:.0f}"
        if value >= 99.95
        else f"{value:.1f}"
        if value >= 9.995
        else f"{value:.2f}".rstrip("0").rstrip(".")
    )
