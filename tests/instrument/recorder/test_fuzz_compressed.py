"""Thirty thousand damaged packed files: the reader never fails and always ends. `make fuzz` tries more."""

import pytest

pytestmark = pytest.mark.slow

PART = 5000


@pytest.mark.parametrize("part", range(6))
def test_damaged_packed_traces_are_read_to_their_end(fuzz, part):
    told = fuzz.fuzz(range(part * PART, (part + 1) * PART), "packed")
    assert told["inputs"] == PART
    assert PART // 2 < told["readable"] <= PART
    assert PART // 2 < told["with problems"] < PART
    assert told["events"] > PART
