"""The conditions of `--fail-on`, as users write them."""

from __future__ import annotations

import pytest

from clew.records.run.failure_conditions import LimitError, Limits, parse_limits


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("slower", Limits(0.0, False)),
        ("slower:5%", Limits(0.05, False)),
        ("structure", Limits(None, True)),
        (" slower:12.5 % , structure ", Limits(0.125, True)),
    ],
)
def test_parse_limits_accepts_documented_conditions(text, limits):
    assert parse_limits(text) == limits


@pytest.mark.parametrize(
    "text", ["", "faster", "slower:", "slower:fast", "slower:5", "structure:1", "slower,,structure"]
)
def test_parse_limits_refuses_unknown_conditions_by_name(text):
    with pytest.raises(LimitError, match="unknown --fail-on condition .*; expected slower"):
        parse_limits(text)
