"""Texts about a recorded function: a latency histogram and rows of facts for hovers, as Markdown or plain text, and
what-if texts for hovers and lenses.

Invariant: a text has a bounded length and counts the entries that it leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.server.text import units

if TYPE_CHECKING:
    from clew.graph.ops.profile.functions import Link, Profile
    from clew.graph.ops.timing.function_savings import Savings
    from clew.server.functions.table import Function, FunctionTable

NAMED = 4
"""Maximum number of callers, callees, waits, exceptions and similar entries that a text lists; it counts the rest."""
BARS = 12
"""Maximum number of rows of a histogram."""
LEAST = 0.005
"""Texts omit shares below this one."""
WIDTH = 24
"""Width of the longest bar, in characters."""
_FULL, _PARTS = "█", " ▏▎▍▌▋▊▉"


@dataclass(frozen=True)
class About:
    name: str
    run: str
    bars: list[str]
    rows: list[tuple[str, str]]
    """Pairs of a label and a text; the text encloses names in backquotes."""

    def markdown(self) -> str:
        body = "".join(f"| {name} | {value.replace('|', chr(92) + '|')} |\n" for name, value in self.rows)
        bars = "\n```text\n" + "\n".join(self.bars) + "\n```\n" if self.bars else ""
        return f"`{self.name}` in run {self.run}\n{bars}\n| | |\n|---|---|\n{body}"

    def plain(self) -> str:
        width = max(len(name) for name, _ in self.rows)
        body = "\n".join(f"{name:{width}}  {value.replace('`', '')}" for name, value in self.rows)
        bars = "\n".join(["", *self.bars, ""]) if self.bars else ""
        return f"{self.name} in run {self.run}\n{bars}\n{body}"


def describe(table: FunctionTable, function: Function, savings: Savings | None) -> About:
    profile = function.profile
    calls = f"{function.calls:,}" + (f" and {function.counted:,} only counted" if function.counted else "")
    rows = [("calls", calls)]
    if function.calls:
        self_time = f"{units.duration(function.self_ns)} ({units.percent(function.share)} of the run)"
        per_call = f"p50 {units.duration(function.p50_ns)}, p95 {units.duration(function.p95_ns)}"
        rows += [
            ("total", f"{units.duration(function.total_ns)}, self {self_time}"),
            ("per call", f"{per_call}, at most {units.duration(profile.max_ns)}"),
            ("waiting", _waiting(table, function)),
        ]
    share, faster = path_share(function, savings), what_if(function, savings)
    if share or faster:
        rows.append(("requests", ", ".join(filter(None, (share, faster)))))
    if function.errors:
        rows.append(("errors", _errors(table, function)))
    for title, links in (("callers", table.callers(function)), ("callees", table.callees(function))):
        if links:
            rows.append((title, _some([_link(table, link, title) for link in links])))
    if profile.values:
        rows.append(("last values", _some([f"{each.name} = `{_quoted(each.text)}`" for each in profile.values])))
    return About(units.short_label(function.label), table.name, histogram(function, profile), rows)


def _some(items: list[str]) -> str:
    more = len(items) - NAMED
    return ", ".join(items[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _link(table: FunctionTable, link: Link, title: str) -> str:
    site = link.caller if title == "callers" else link.callee
    by = f" by {link.how}" if link.how else ""
    return f"`{units.short_label(table.label(site))}` {link.calls:,}×{by}"


def _waiting(table: FunctionTable, function: Function) -> str:
    causes = [
        f"{units.duration(wait.total_ns)} for {wait.channel}"
        + (f" until `{units.short_label(table.label(wait.source))}`" if wait.source else "")
        for wait in function.profile.waits
    ]
    return units.duration(function.waiting_ns) + (f": {_some(causes)}" if causes else "")


def _errors(table: FunctionTable, function: Function) -> str:
    summary = f"{units.count(function.errors, 'call')} ended by an exception"
    found = [
        f"{each.count:,}×{f' {each.type}' if each.type else ''} from `{units.short_label(table.label(each.source))}`"
        for each in function.profile.raised
        if each.type or each.source != function.site
    ]
    return summary + (f": {_some(found)}" if found else "")


def _quoted(text: str) -> str:
    return units.printable(" ".join(text.split())).replace("`", "'")


def histogram(function: Function, profile: Profile) -> list[str]:
    """Return log-spaced bars, with `p50`, `p95` and `max` marked at their bars. The list is empty for a few calls,
    which the statistics describe as well."""
    from clew.graph.ops.profile.functions import BINS_PER_OCTAVE

    if sum(profile.histogram) < NAMED:
        return []
    together = -(-len(profile.histogram) // BARS)
    counts = [sum(profile.histogram[at : at + together]) for at in range(0, len(profile.histogram), together)]
    bounds = [2 ** ((profile.first_bin + number * together) / BINS_PER_OCTAVE) for number in range(len(counts) + 1)]
    most = max(counts)
    rows = []
    marks = {"p50": function.p50_ns, "p95": function.p95_ns, "max": profile.max_ns}
    digits = len(f"{most:,}")
    for number, count in enumerate(counts):
        here = [
            name
            for name, ns in marks.items()
            if (bounds[number] <= max(ns, 1) or not number)
            and (max(ns, 1) < bounds[number + 1] or number == len(counts) - 1)
        ]
        row = f"{units.duration(bounds[number]):>7} {count:>{digits},} {_bar(count / most):{WIDTH}} {' '.join(here)}"
        rows.append(row.rstrip())
    return rows


def _bar(share: float) -> str:
    eighths = round(share * WIDTH * 8)
    return _FULL * (eighths // 8) + _PARTS[eighths % 8].strip() if eighths else ("▏" if share else "")


def path_share(function: Function, savings: Savings | None) -> str:
    """Return `31 % of the critical path`, or "" for a negligible share."""
    row = savings.by_label.get(function.label) if savings else None
    return f"{units.percent(row.on_path)} of the critical path" if row and row.on_path >= LEAST else ""


def what_if(function: Function, savings: Savings | None) -> str:
    """Return `10 % faster: p95 of order -4 %`, or "" for a negligible saving."""
    row = savings.by_label.get(function.label) if savings else None
    if savings is None or row is None or row.saved_ns < LEAST * row.p95_ns or row.saved_ns <= 0:
        return ""
    of = f"p95 of {row.request}" if row.request else "the run"
    most = "at most " if row.bound else ""
    return f"{savings.percent:g} % faster: {of} {most}-{units.percent(row.saved_ns / row.p95_ns)}"
