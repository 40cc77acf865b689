"""Values survive the way into Arrow and back, and pandas is not imported on it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.runtime.arrow_arrays import from_lists, from_numbers, from_texts, text, to_numbers

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])))


@given(st.lists(st.integers(0, 255)), st.sampled_from([pa.uint8(), pa.uint32(), pa.int64(), pa.uint64()]))
def test_numbers_survive_as_any_type_that_holds_them(values: list[int], type_: pa.DataType) -> None:
    array = from_numbers(values, type_)
    assert array.equals(pa.array(values, type_))
    assert to_numbers(array).tolist() == values


@given(st.lists(st.booleans()), st.integers(0, 9))
def test_truth_values_survive_at_any_offset(values: list[bool], offset: int) -> None:
    array = from_numbers(np.array(values, bool))
    assert array.equals(pa.array(values, pa.bool_()))
    assert to_numbers(array.slice(offset)).tolist() == values[offset:]


@given(st.lists(st.lists(st.integers(0, 9))))
def test_chunks_become_one_array(chunks: list[list[int]]) -> None:
    array = pa.chunked_array([pa.array(chunk, pa.int64()) for chunk in chunks], pa.int64())
    assert to_numbers(array).tolist() == [number for chunk in chunks for number in chunk]


@given(TEXTS)
def test_texts_survive(texts: list[str]) -> None:
    array = from_texts(texts)
    array.validate(full=True)
    assert array.to_pylist() == texts
    assert [text(one).as_py() for one in texts] == texts


@given(st.lists(TEXTS))
def test_lists_of_texts_survive(lists: list[list[str]]) -> None:
    array = from_lists(lists)
    array.validate(full=True)
    assert array.to_pylist() == lists


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        from_texts(["\ud800"])


def test_conversions_do_not_import_pandas() -> None:
    code = """
import sys
import numpy as np
from clew.graph.runtime.arrow_arrays import from_lists, from_numbers, from_texts, text, to_numbers
to_numbers(from_numbers(np.arange(3)))
to_numbers(from_numbers(np.ones(3, bool)))
from_texts(["a"]).dictionary_encode(), from_lists([["a"]]), text("a")
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
