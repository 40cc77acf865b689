"""Keys are equal for equal values in every process, and never run user code."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.records.format.keys import KeySource, NotAKey, key_of

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
values = st.recursive(scalars, lambda inner: st.tuples(inner, inner), max_leaves=6)


def canonical(value):
    """Return the value with its types, so that equality is as strict as that of keys."""
    return (type(value).__name__, tuple(map(canonical, value)) if isinstance(value, tuple) else repr(value))


@given(values, values)
def test_key_of_two_values_is_equal_only_for_same_value_and_type(left, right):
    assert (key_of("c", left) == key_of("c", right)) == (canonical(left) == canonical(right))


@given(values)
def test_key_fits_64_bits_and_is_never_zero(value):
    assert 0 < key_of("c", value) < 1 << 64


def test_key_of_same_value_differs_between_channels():
    assert key_of("chunk", 17) != key_of("message", 17)


def test_key_is_equal_in_processes_with_other_hash_seeds():
    code = "from clew.records.format.keys import key_of; print(key_of('message', ('client-1:17', 3)))"
    keys = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert keys == {f"{key_of('message', ('client-1:17', 3))}\n".encode()}


def test_key_of_user_class_is_refused_without_running_its_code():
    class Loud(str):
        def encode(self, *args):
            raise AssertionError("user code ran")

    with pytest.raises(NotAKey, match="Loud"):
        key_of("c", Loud("x"))


def test_key_source_fresh_keys_do_not_repeat():
    source = KeySource()
    assert len({source.fresh() for _ in range(10_000)}) == 10_000


def test_key_of_surrogates_and_huge_numbers_exists():
    assert key_of("\ud800", "\udfff") == key_of("\ud800", "\udfff") != key_of("\ud801", "\udfff")
    huge = 10**6000
    assert key_of("c", huge) == key_of("c", 10**6000) != key_of("c", huge + 1)
    assert key_of("c", huge) != key_of("c", -huge)


def test_key_of_long_number_is_equal_for_any_digit_limit():
    code = "from clew.records.format.keys import key_of; print(key_of('c', 7**700), key_of('c', 7**750), key_of('c', 7**2000))"
    keys = {
        subprocess.run(
            [sys.executable, "-X", f"int_max_str_digits={digits}", "-c", code], capture_output=True, check=True
        ).stdout
        for digits in (0, 640)
    }
    assert len(keys) == 1


def test_key_of_too_deeply_nested_tuple_is_refused():
    deep = ()
    for _ in range(5000):
        deep = (deep,)
    with pytest.raises(NotAKey, match="nested"):
        key_of("c", deep)
