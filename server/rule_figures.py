"""What the rules of a spec gave in a run: source functions joined with the places that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clew.records.match import plain_qualname
from clew.server import wording
from clew.server.files import same_file_key

if TYPE_CHECKING:
    from clew.esl.functions import FunctionInfo
    from clew.esl.matcher import RuleMatch
    from clew.esl.problem import EslProblem
    from clew.graph.ops.rates import Rates
    from clew.graph.query import Run


class RuleFigures:
    """Of one run. A function is known by its file and name, wherever it stands in the file now."""

    def __init__(self, run: Run) -> None:
        from clew.graph.ops.rates import SiteRates

        self.name = run.info.name
        self._rates = SiteRates.of(run.graph)
        self._sites: dict[tuple[str, str], list[int]] = {}
        for number, site in enumerate(run.graph.sites):
            if site.file and not site.is_adapter:
                key = (same_file_key(site.file), plain_qualname(site.qualname))
                self._sites.setdefault(key, []).append(number)

    def hot(self, functions: Iterable[FunctionInfo]) -> list[tuple[FunctionInfo, Rates]]:
        """Those that were called so often that recording them shows, the hottest first."""
        from clew.graph.ops.rates import HOT

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
        return f"run {run}: no event of them"
    parts = [f"{wording.count(rates.events, 'event')}, {wording.percent(rates.share)} of all"]
    if rates.calls:
        parts.append(f"{wording.count(rates.calls, 'call')}, {wording.roughly(rates.per_second)}/s")
        parts.append(f"recording them took about {wording.percent(rates.overhead)} of its time")
    return f"run {run}: " + " · ".join(parts)


def too_hot(matches: Iterable[RuleMatch], figures: RuleFigures) -> Iterator[EslProblem]:
    """A warning for each rule that means a function which was called too often to be recorded without being felt."""
    from clew.esl.problem import EslProblem

    for each in matches:
        hot = figures.hot(each.functions)
        if hot:
            function, rates = hot[0]
            often, cost = wording.roughly(rates.per_second), wording.percent(rates.overhead)
            others = f", and so did {len(hot) - 1} more" if len(hot) > 1 else ""
            yield EslProblem(
                "warning",
                f"`{function.label}` ran {often} times a second in run {figures.name}, where recording it took about {cost} of "
                f"the time{others}; leave it out (`except`), or set a `budget`",
                each.rule.pattern.span,
            )
