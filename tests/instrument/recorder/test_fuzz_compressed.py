"""Thirty thousand damaged compressed files: the reader never fails and always ends. `make fuzz` tries more."""

import pytest

pytestmark = pytest.mark.slow

PART = 5000


@pytest.mark.parametrize("part", range(6))
def test_reader_of_damaged_compressed_traces_never_fails(fuzz, part):
    told = fuzz.fuzz(range(part * PART, (part + 1) * PART), "packed")
    assert told["inputs"] == PART
    assert PART // 2 < told["readable"] <= PART
    assert PART // 2 < told["with problems"] < PART
    assert told["events"] > PART
