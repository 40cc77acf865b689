"""The checker of sentences notices each kind of false sentence, and accepts the true one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from clew.graph.ops.diagnoses.finding import Claim
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.facts import Facts
from tests.support.diagnoses.evidence import Evidence, unconfirmed
from tests.support.diagnoses.made_programs import MADE, made_program


@pytest.fixture(params=range(8))
def found(request):
    """The evidence and the claims of `loop-blocked` or `holder-ended`, which have names, places, times and durations."""
    kind = ("holder-ended", "loop-blocked", "retaken-by-holder", "slot-leaked")[request.param % 4]
    with made_program(kind, request.param, fault=True) as program:
        (finding,) = (one for one in findings(Facts.of(program.graph)) if one.kind == kind)
        yield Evidence(program.run, program.graph), finding.claims


def changed(claims, pattern, change):
    """Change each match of a pattern in the first sentence that has one."""
    for number, claim in enumerate(claims):
        if re.search(pattern, claim.text):
            text = re.sub(pattern, change, claim.text)
            return (*claims[:number], replace(claim, text=text), *claims[number + 1 :])
    raise AssertionError(f"no sentence has {pattern}")


def test_true_sentences_are_confirmed(found):
    evidence, claims = found
    assert unconfirmed(evidence, claims) == []


def test_name_of_another_strand_is_noticed(found):
    evidence, claims = found
    named = {name for claim in claims for row in claim.events for name in evidence.named(evidence[row])}
    other = sorted(evidence.names - named)
    assert other, "every program has a strand without a part in the finding"
    claims = (Claim(f"{other[0]} did it.", claims[0].events),)
    assert unconfirmed(evidence, claims) == [f"no event speaks of {other[0]}: {other[0]} did it."]


def test_other_line_is_noticed(found):
    evidence, claims = found
    assert unconfirmed(evidence, changed(claims, r"\.py:\d+", ".py:4711"))


def test_other_time_is_noticed(found):
    evidence, claims = found
    assert unconfirmed(evidence, changed(claims, r"\+\d+\.\d\d s", "+77.77 s"))


def test_other_duration_is_noticed(found):
    evidence, claims = found
    assert unconfirmed(evidence, changed(claims, r"(waited|for) [\d.]+ (ms|s)\b", r"\1 4711 ms"))


def test_sentence_without_events_is_noticed(found):
    evidence, claims = found
    assert unconfirmed(evidence, (replace(claims[0], events=()),))


def test_events_of_another_sentence_are_noticed():
    with made_program("holder-ended", 3, fault=True) as program:
        evidence = Evidence(program.run, program.graph)
        (finding,) = findings(Facts.of(program.graph))
        assert unconfirmed(evidence, (replace(finding.claims[1], events=(0,)),))


def test_cancellation_later_than_what_it_stopped_is_noticed():
    with made_program("slot-leaked", 1, fault=True) as program:
        evidence = Evidence(program.run, program.graph)
        (finding,) = findings(Facts.of(program.graph))
        cancel = next(row for row in finding.events if evidence[row].event.kind.name == "CANCEL")
        evidence[cancel].__dict__["ns"] = 1 << 60
        assert any("is later than what it stopped" in what for what in unconfirmed(evidence, finding.claims))


@pytest.mark.parametrize("kind", MADE)
def test_sentences_about_made_programs_are_confirmed(kind):
    for seed in range(5):
        with made_program(kind, seed, fault=True) as program:
            evidence = Evidence(program.run, program.graph)
            for finding in findings(Facts.of(program.graph)):
                assert unconfirmed(evidence, finding.claims) == []
