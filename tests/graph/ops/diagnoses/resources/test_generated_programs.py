"""Every kind of fault that the generator plants is found, and a program without a fault gives no finding."""

from __future__ import annotations

import shutil
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.facts import Facts
from tests.support.diagnoses.check import wrong_claims
from tests.support.diagnoses.evidence import Evidence, unconfirmed
from tests.support.diagnoses.generator import PLANTS, program

SEEDS = st.integers(0, 1 << 30)


@pytest.mark.parametrize("kind", sorted(PLANTS))
@given(SEEDS)
def test_planted_fault_is_named_with_its_strands_and_victims(kind, seed):
    made = program(Random(seed), kind)
    graph = made.graph()
    found = [finding for finding in findings(Facts.of(graph)) if finding.kind == kind]
    evidence = Evidence(made.run.folder, graph)
    shutil.rmtree(made.run.folder.parent, ignore_errors=True)
    assert len(found) == 1
    assert made.fault is not None
    assert [name for name in made.fault.names if name not in found[0].text] == []
    harmed = {graph.strands[victim.strand].name for victim in found[0].victims}
    assert set(made.fault.victims) <= harmed
    assert wrong_claims(graph, found[0]) == []
    assert unconfirmed(evidence, found[0].claims) == []


@given(SEEDS)
def test_program_without_fault_has_no_finding(seed):
    made = program(Random(seed), None)
    found = findings(Facts.of(made.graph()))
    shutil.rmtree(made.run.folder.parent, ignore_errors=True)
    assert [finding.text for finding in found] == []
