"""Compare the C kernel for depth-first flow order with its oracle on random forests; invalid columns are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.kernel import _ingest as kernels
from clew.graph.ops.flows.order import LEFT_OUT, name_hashes, order_flows
from tests.oracles.flow_order import order_in_python
from tests.support.examples import examples


@st.composite
def forests(draw):
    count = draw(st.integers(1, 40))
    parent = [draw(st.integers(-1, place - 1)) if place else -1 for place in range(count)]
    numbers = draw(st.permutations(range(count)))
    shuffled = [0] * count
    for place, above in enumerate(parent):
        shuffled[numbers[place]] = numbers[above] if above >= 0 else draw(st.sampled_from([-1, -1, LEFT_OUT]))
    label = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    begin = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    roots = draw(st.lists(st.integers(0, count - 1), max_size=5))
    return (
        np.array(shuffled, np.int32), np.array(label, np.int32), np.array(begin, np.int64), ["a", "b", "c"],
        np.array(roots, np.int32),
    )  # fmt: skip


@pytest.mark.parametrize("coalesce", [False, True])
@given(forest=forests())
@settings(max_examples=examples(150), deadline=None)
def test_flow_order_kernel_equals_oracle(coalesce, forest):
    parent, label, begin, names, roots = forest
    one = order_flows(parent, label, begin, names, roots, coalesce=coalesce)
    other = order_in_python(parent, label, begin, name_hashes(names), roots, coalesce=coalesce)
    for mine, theirs in zip(one, other, strict=True):
        assert mine.tolist() == theirs.tolist()


def test_flow_order_of_columns_that_do_not_fit_is_refused():
    one = np.zeros(1, np.int32)
    first, shape = np.zeros(2, np.int64), np.zeros(1, np.uint64)
    name = name_hashes(["a"])
    for parent, label, root in (([1], [0], [0]), ([-3], [0], [0]), ([-1], [1], [0]), ([-1], [0], [1]), ([0], [0], [0])):
        with pytest.raises(ValueError):
            kernels.flows(
                np.array(parent, np.int32), np.array(label, np.int32), np.zeros(1, np.int64), name, np.array(root, np.int32),
                False, first, shape,
            )  # fmt: skip
    with pytest.raises(ValueError):
        kernels.flows(one - 1, one, np.zeros(1, np.int64), name, one, False, first[:1], shape)
    ends = kernels.flows(one - 1, one, np.zeros(1, np.int64), name, one, False, first, shape)
    assert np.frombuffer(ends[0], np.int32).tolist() == [0] and first.tolist() == [0, 1]
