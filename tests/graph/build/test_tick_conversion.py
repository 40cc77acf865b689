import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.build.tick_conversion import monotonic_ns
from clew.records.read.clock_map import ClockMap, Segment
from tests.oracles.build.tick_conversion import by_columns


@given(
    st.lists(
        st.tuples(st.integers(0, 1 << 50), st.integers(0, 1 << 50), st.floats(0.1, 2.5) | st.just(1.0)),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.integers(0, 1 << 51), min_size=1, max_size=20),
)
def test_tick_conversion_of_columns_equals_single_conversions(segments, ticks):
    clock = ClockMap(tuple(sorted((Segment(*segment) for segment in segments), key=lambda segment: segment.ticks)))
    expected = [clock.monotonic_ns(tick) for tick in ticks]
    assert monotonic_ns(clock, np.array(ticks, np.uint64)).tolist() == expected
    assert by_columns(clock, np.array(ticks, np.uint64)).tolist() == expected


@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=20), st.floats(0.1, 2.5) | st.just(1.0))
def test_tick_conversion_of_damaged_ticks_kernel_equals_oracle(ticks, rate):
    clock = ClockMap((Segment(1 << 40, 1 << 50, rate), Segment(1 << 45, 1 << 52, 1.0)))
    column = np.array(ticks, np.uint64)
    assert monotonic_ns(clock, column).tolist() == by_columns(clock, column).tolist()
