"""Thresholds refuse invalid values by name, and answers have a readable repr."""

from __future__ import annotations

import numpy as np
import pytest

from clew.compare.localize import ranking
from clew.compare.patterns import find
from clew.compare.requests import decision_tree, diff
from clew.compare.sessions import result
from clew.records.errors import ClewError
from clew.server.protocol.views.localize import LocalizeThresholds
from tests.support.runs.spans import changed, period


@pytest.mark.parametrize(
    ("thresholds", "option", "value", "said"),
    [
        (diff.Thresholds, "alpha", 5, "'alpha' is a number from 0 to 1, not 5"),
        (diff.Thresholds, "alpha", "5%", "'alpha' is a number from 0 to 1, not '5%'"),
        (diff.Thresholds, "more", 2.5, "'more' is a whole number of at least 1, not 2.5"),
        (diff.Thresholds, "slower", float("nan"), "'slower' is a number of at least 0, not nan"),
        (ranking.Thresholds, "half", 0, "'half' is a number above 0, not 0"),
        (ranking.Thresholds, "pieces", True, "'pieces' is a whole number of at least 1, not True"),
        (find.Thresholds, "times", 1, "'times' is a whole number of at least 2, not 1"),
        (decision_tree.Thresholds, "told", -0.1, "'told' is a number from 0 to 1, not -0.1"),
        (result.Thresholds, "change", None, "'change' is a number of at least 0, not None"),
        (find.Thresholds, "least", 1, "unknown threshold 'least'; thresholds: calls, times, widest, top"),
    ],
)
def test_threshold_out_of_range_is_refused(thresholds, option, value, said):
    with pytest.raises(ClewError, match=said):
        thresholds().having({option: value})


def test_thresholds_accept_numpy_numbers():
    given = {"alpha": np.float64(0.5), "more": np.int64(7), "slower": 1}
    assert diff.Thresholds().having(given) == diff.Thresholds(alpha=0.5, more=7, slower=1.0)


def test_protocol_localize_thresholds_equal_those_of_ranking():
    known = vars(ranking.Thresholds())
    assert vars(LocalizeThresholds()).items() <= known.items()


def test_answers_repr_and_html_contain_their_sentence(tmp_path):
    good = period(tmp_path, 1, "good").requests
    bad = period(tmp_path, 2, "bad", change=lambda number, calls, chance: changed(calls, 1, ms=40.0)).requests
    found = bad.localize(good)
    assert repr(found) == f"localization({found.sentence()!r})"
    assert repr(good.diff(bad)).startswith("mutations('1 slower of 40 requests before and 40 after")
    for answer in (found, good.diff(bad), bad.node.run.strands.patterns()):
        assert answer.sentence()[:20] in str(answer._repr_html_()) and "<table>" in answer._repr_html_()
        assert answer.__rich__().renderables[0].plain == answer.sentence()
