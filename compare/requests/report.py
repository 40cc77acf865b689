"""Report changes as lines for a terminal, as Markdown for a pull request, and as the reason why a build fails.

Invariant: every report counts the entries that it leaves out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from clew.compare.report_text import at, escaped
from clew.compare.requests.call_changes import EdgeChange, summed
from clew.compare.requests.causes import Cause
from clew.compare.requests.diff import Mutation, Mutations
from clew.compare.requests.flow_union import Union
from clew.graph.ops.diff import duration
from clew.records.run.failure_conditions import Limits

CALLS = 4
"""Maximum number of slower calls, and of differences, below one change."""
LINES = 24
"""Maximum number of lines of a flow."""
SHOWN_MARKDOWN = 20
SIGNS = {"before": "-", "after": "+", "both": " "}
SLOWER = "!"


def details(mutations: Mutations, row: Mutation, root: str | None) -> list[str]:
    """Return the details of one change: the slower calls, the precursors of a new flow, and other differences.

    Paths are shown relative to `root`; pass None if labels are not places in code."""
    calls = _group_equal(row.edges)
    lines = [
        f"{equal.sentence()}, p = {equal.p:.2g}{_at(mutations, row, equal.first.place, root)}"
        for equal in calls[:CALLS]
    ]
    lines += _more(len(calls) - CALLS, "the faster calls" if row.is_faster else "the slower calls")
    lines += [row.turns()] if row.turns_ns else []
    lines += [precursor.sentence() for precursor in row.precursors[:1]]
    lines += _more(len(row.precursors) - 1, "the possible precursors")
    differences = mutations.differences(row).rows
    lines += [difference.sentence() for difference in differences[:CALLS]]
    return lines + _more(len(differences) - CALLS, "these differences")


class _EqualCalls(NamedTuple):
    """The calls with one name and channel."""

    edges: list[EdgeChange]

    @property
    def first(self) -> EdgeChange:
        """The call that changed most."""
        return self.edges[0]

    @property
    def p(self) -> float:
        return min(edge.p for edge in self.edges)

    def sentence(self) -> str:
        several = f" in {len(self.edges):,} calls" if len(self.edges) > 1 else ""
        return summed(self.edges).sentence() + several


def _group_equal(edges: tuple[EdgeChange, ...]) -> list[_EqualCalls]:
    found: dict[tuple[str, str], _EqualCalls] = {}
    for edge in edges:
        found.setdefault((edge.target, edge.channel), _EqualCalls([])).edges.append(edge)
    return list(found.values())


def flow_lines(union: Union) -> list[str]:
    """Return two flows merged into one indented list.

    `+` and `-` mark calls of one side; `!` marks significantly slower calls (with one request per side: slower calls). All
    other calls are counted."""
    parent = union.correspondence.parent
    slower = union.is_slower if union.counts == (1, 1) else union.significant
    shown: set[int] = set()
    for call in union.calls:
        number = call.number
        if call.status != "both" or slower(call):
            while number >= 0 and number not in shown:
                shown.add(number)
                number = parent[number]
    lines: list[str] = []
    left_out = 0
    for status, depth, number in union.correspondence.lines():
        call = union.calls[number]
        if number not in shown or len(lines) >= LINES:
            left_out += 1
            continue
        lines += _skipped(left_out, depth)
        left_out = 0
        sign = SLOWER if slower(call) else SIGNS[status]
        by = f" (by {call.node.channel})" if call.node.channel else ""
        times = [duration(side.edge_ns) for side in (call.before, call.after) if side is not None]
        lines.append(f"{sign} {'  ' * depth}{call.label}{by}  {' -> '.join(times)}")
    return lines + _skipped(left_out, 0)


def markdown(mutations: Mutations, root: str | None) -> str:
    """Return the report in GitHub-flavoured Markdown."""
    lines = [f"### clew: {escaped(mutations.sentence().partition('; first, ')[0])}", ""]
    if mutations.rows:
        lines += [
            "| | request | before | after | requests | cost | p | why |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
        ]
        lines += [_markdown_row(mutations, cause, root) for cause in mutations.causes[:SHOWN_MARKDOWN]]
        hidden = len(mutations.causes) - SHOWN_MARKDOWN
        lines += [""] + [f"And {hidden:,} more.\n"] * (hidden > 0)
        first = mutations.rows[0]
        flow = flow_lines(mutations.union(first.category))
        lines += [f"<details><summary>The flow of {escaped(first.name)}</summary>", "", "```diff", *flow, "```", ""]
        lines += ["</details>", ""]
    certainty = mutations.certainty()
    lines += ["<details><summary>When does a difference count?</summary>", "", escaped(mutations.explain()), ""]
    lines += [escaped(f"Here, {certainty}."), ""] if certainty else []
    return "\n".join([*lines, "</details>", ""])


def _markdown_row(mutations: Mutations, cause: Cause, root: str | None) -> str:
    row = summary(cause)
    why = "<br>".join(escaped(text).replace("|", "\\|") for text in details(mutations, cause.first, root))
    requests, cost = f"{row.count_before:,} → {row.count_after:,}", change(row.cost_ns)
    before, after = (duration(mean) if mean is not None else "" for mean in (row.mean_before_ns, row.mean_after_ns))
    return f"| {kind(row)} | {escaped(cause.names)} | {before} | {after} | {requests} | {cost} | {row.p:.2g} | {why} |"


def summary(cause: Cause) -> Mutation:
    """Return the changes of a cause as one: sums of costs and requests, the mean times of all requests, the bounds of the
    largest change, and the smallest p."""
    if len(cause.rows) == 1:
        return cause.first
    counts = [sum(getattr(row, name) for row in cause.rows) for name in ("count_before", "count_after")]
    means = [
        sum((getattr(row, mean) or 0.0) * getattr(row, count) for row in cause.rows) / total if total else None
        for mean, count, total in zip(
            ("mean_before_ns", "mean_after_ns"), ("count_before", "count_after"), counts, strict=True
        )
    ]
    return replace(
        cause.first, cost_ns=cause.cost_ns, count_before=counts[0], count_after=counts[1], mean_before_ns=means[0],
        mean_after_ns=means[1], p=min(row.p for row in cause.rows),
    )  # fmt: skip


def failed(mutations: Mutations, limits: Limits) -> str:
    """Return the reason why a build fails; "" if it passes."""
    reasons = []
    if limits.slower is not None:
        slow = [row for row in mutations.slower if growth(row) >= limits.slower]
        by = f" by {limits.slower:.0%} or more" if limits.slower else ""
        reasons += [f"{_subjects([row.name for row in slow])} slower{by}"] if slow else []
    if limits.structure:
        new = mutations.of("structural")
        reasons += [f"{_subjects([row.name for row in new])} answered by another flow"] if new else []
    return f"failed: {' and '.join(reasons)}" if reasons else ""


def growth(row: Mutation) -> float:
    """Return the relative increase of a response-time mutation: the median of all differences or the difference of the means,
    whichever is larger."""
    if not row.mean_before_ns or row.mean_after_ns is None:
        return 0.0
    return max(row.mean_after_ns - row.mean_before_ns, row.shift_ns or 0.0) / row.mean_before_ns


def kind(row: Mutation) -> str:
    """Return the label of a mutation: "slower", "faster", "more" or "new"."""
    if row.is_faster:
        return "faster"
    return "slower" if row.kind == "response-time" else "more" if row.count_before else "new"


def change(ns: float) -> str:
    """Return a signed duration, such as `+1.2 ms`."""
    return f"{'+' if ns >= 0 else '−'}{duration(abs(ns))}"


def _subjects(rows: list[str]) -> str:
    names = list(dict.fromkeys(rows))
    return f"{names[0]} is" if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more are"


def _skipped(count: int, depth: int) -> list[str]:
    return [f"  {'  ' * depth}… {count:,} call{'s' * (count > 1)}"] * bool(count)


def _more(count: int, what: str) -> list[str]:
    return [f"and {count:,} more of {what}"] * (count > 0)


def _at(mutations: Mutations, row: Mutation, place: int, root: str | None) -> str:
    return "" if root is None else at(mutations.pairing.location(row.category, place), root)
