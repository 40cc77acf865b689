"""Every diagnosis has a page, a generator of records, and a generator of real programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clew.graph.ops.diagnoses.registry import DIAGNOSES
from tests.support.diagnoses.made_programs import MADE
from tests.support.diagnoses.programs.kinds import KINDS

PAGES = Path(__file__).parents[4] / "docs" / "diagnoses"
EVERY = sorted({sys.modules[find.__module__].KIND for find in DIAGNOSES})


@pytest.mark.parametrize("kind", EVERY)
def test_diagnosis_has_a_page_and_both_generators(kind):
    assert (PAGES / f"{kind}.md").is_file()
    assert f"[{kind}]({kind}.md)" in (PAGES / "README.md").read_text()
    assert kind in MADE
    assert kind in KINDS


def test_generators_have_no_other_kinds():
    assert sorted(MADE) == sorted(KINDS) == EVERY
