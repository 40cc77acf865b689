import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.clocks import monotonic_ns
from clew.records.clocks import ClockMap, Segment


@given(
    st.lists(
        st.tuples(st.integers(0, 1 << 50), st.integers(0, 1 << 50), st.floats(0.1, 2.5) | st.just(1.0)),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.integers(0, 1 << 51), min_size=1, max_size=20),
)
def test_columns_are_converted_as_single_numbers_are(segments, ticks):
    clock = ClockMap(tuple(sorted((Segment(*segment) for segment in segments), key=lambda segment: segment.ticks)))
    found = monotonic_ns(clock, np.array(ticks, np.uint64)).tolist()
    assert found == [clock.monotonic_ns(tick) for tick in ticks]
