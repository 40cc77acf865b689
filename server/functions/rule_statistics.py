"""Statistics of a spec's rules in a run: joins source functions with the recorded sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clew.records.plan.match import plain_qualname
from clew.server.locations.paths import same_file_key
from clew.server.text import units

if TYPE_CHECKING:
    from clew.esl.index.declarations import FunctionInfo
    from clew.esl.index.match import RuleMatch
    from clew.esl.syntax.problem import EslProblem
    from clew.graph.ops.profile.recording_cost import Rates
    from clew.query.api import Run


class RuleStatistics:
    """Rule statistics of one run. A function is identified by its file and name; its line may have changed."""

    def __init__(self, run: Run) -> None:
        from clew.graph.ops.profile.recording_cost import SiteRates

        self.name = run.info.name
        self._rates = SiteRates.of(run.graph)
        self._sites: dict[tuple[str, str], list[int]] = {}
        for number, site in enumerate(run.graph.sites):
            if site.file and not site.is_adapter:
                key = (same_file_key(site.file), plain_qualname(site.qualname))
                self._sites.setdefault(key, []).append(number)

    def hot(self, functions: Iterable[FunctionInfo]) -> list[tuple[FunctionInfo, Rates]]:
        """Return the functions that were called often enough for their recording to be noticeable, the hottest first."""
        from clew.graph.ops.profile.recording_cost import HOT

        if not self._rates.any_faster(HOT):
            return []
        found = [(function, self.of([function])) for function in functions]
        return sorted((one for one in found if one[1].per_second >= HOT), key=lambda one: -one[1].per_second)

    def of(self, functions: Iterable[FunctionInfo]) -> Rates:
        return self._rates.together(
            site for each in functions for site in self._sites.get((same_file_key(each.file), each.name), ())
        )


def about(rates: Rates, run: str) -> str:
    """`run demo: 1,234 events, 12 % of all · 600 calls, 3.1 k/s · recording them took about 0.2 % of its time`"""
    if not rates.events and not rates.calls:
        return f"run {run}: no events"
    parts = [f"{units.count(rates.events, 'event')}, {units.percent(rates.share)} of all"]
    if rates.calls:
        parts.append(f"{units.count(rates.calls, 'call')}, {units.roughly(rates.per_second)}/s")
        parts.append(f"recording them took about {units.percent(rates.overhead)} of its time")
    return f"run {run}: " + " · ".join(parts)


def too_hot(matches: Iterable[RuleMatch], statistics: RuleStatistics) -> Iterator[EslProblem]:
    """Yield a warning for each rule that selects a function whose calls are too frequent to be recorded unnoticed."""
    from clew.esl.syntax.problem import EslProblem

    for each in matches:
        hot = statistics.hot(each.functions)
        if hot:
            function, rates = hot[0]
            often, cost = units.roughly(rates.per_second), units.percent(rates.overhead)
            others = f" (and so for {len(hot) - 1} more)" if len(hot) > 1 else ""
            yield EslProblem(
                "warning",
                f"`{function.label}` ran {often} times a second in run {statistics.name}; recording it took about {cost} of "
                f"the time{others}. Leave it out (`except`) or set a `budget`",
                each.rule.pattern.span,
            )
