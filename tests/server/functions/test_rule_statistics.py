"""The statistics of spec rules in a run equal counts of a known run and counts made by hand."""

from types import SimpleNamespace

import numpy as np

from clew.graph.ops.profile.recording_cost import CALL_NS, COUNTED_NS, SiteRates
from clew.records.format.event import Kind
from clew.server.functions import rule_statistics
from clew.server.lsp.features.esl import hover, lens
from clew.server.lsp.features.esl.spec_text import SpecText
from clew.server.session.session import Task
from clew.server.session.specs import Specs
from clew.server.text import units


def test_site_rates_together_sum_over_distinct_sites():
    graph = SimpleNamespace(
        sites=[None] * 3,
        site=np.array([1, 1, 2, 2, 2], np.uint32),
        kind=np.array([Kind.ENTER, Kind.EXIT, Kind.ENTER, Kind.SEND, Kind.EXIT], np.uint8),
        ts=np.array([0, 10, 20, 30, 1000]),
        counted={1: 7},
    )
    rates = SiteRates.of(graph).together([1, 1])
    assert (rates.events, rates.calls, rates.share, rates.per_second) == (2, 8, 2 / 5, 8e6)
    assert rates.overhead == (CALL_NS + 7 * COUNTED_NS) / 1000


def specs_of(session):
    return Specs(lambda: session, list)


def spec_of(shop, text):
    return SpecText((shop / "any.esl").as_uri(), text)


def test_spec_lens_and_hover_count_the_events_of_the_run(shop, session):
    run = session.open("", Task())
    sites = [number for number, site in enumerate(run.graph.sites) if site.label == "shop.app:order"]
    of_it = np.isin(np.asarray(run.graph.site), sites)
    events = int(of_it.sum())
    calls = int((of_it & (np.asarray(run.graph.kind) == Kind.ENTER)).sum())
    spec = spec_of(shop, "include standard;\nrequest shop.app:order;\nscope shop.none;\n")
    titles = [one.command.title for one in lens.lenses(specs_of(session), spec, Task(), record=False)]
    assert titles == [f"matches 1 function · {units.roughly(events)} events in last run", "matches no function"]
    text, _ = hover.hover(specs_of(session), spec, spec.text.index("app:order"), Task())
    assert f"{units.count(events, 'event')}, " in text and f" {units.count(calls, 'call')}, " in text


def test_rule_statistics_hot_function_is_a_problem_with_its_rate(shop, session, monkeypatch):
    specs = specs_of(session)
    checked = specs.check(
        str(shop / "any.esl"), "include standard;\nscope shop.stock:Stock.lookup;\nscope shop.none;\n"
    )
    figures = specs.rule_statistics(Task())
    assert list(rule_statistics.too_hot(checked.matches, figures)) == []
    monkeypatch.setattr("clew.graph.ops.profile.recording_cost.HOT", 1e-3)
    (problem,) = rule_statistics.too_hot(checked.matches, figures)
    assert problem.span.line == 2
    assert (
        problem.message.startswith("`shop.stock:Stock.lookup` ran ")
        and "times a second in run after" in problem.message
    )


def test_units_roughly_shortens_large_numbers():
    said = [units.roughly(number) for number in (0, 812, 9_990, 12_345, 1_234_567, 37_000_000)]
    assert said == ["0", "812", "9,990", "12 k", "1.2 M", "37 M"]
