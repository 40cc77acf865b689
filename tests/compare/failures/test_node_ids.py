"""A test is found by a part of its id that only it has."""

from __future__ import annotations

import pytest

from clew.compare.failures.node_ids import UnknownTest, find_node

NODES = [
    "tests/test_cart.py::test_total",
    "tests/test_cart.py::test_price[1-a::b]",
    "tests/test_cart.py::test_price[2-x/y]",
    "tests/test_shop.py::TestShop::test_total",
    "tests/test_shop.py::test_opens",
    r"tests/test_shop.py::test_name[a\n\xe8]",
]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("tests/test_cart.py::test_total", NODES[0]),
        ("./tests/test_cart.py::test_total", NODES[0]),
        ("/home/me/shop/tests/test_cart.py::test_total", NODES[0]),
        ("test_cart.py::test_total", NODES[0]),
        ("TestShop::test_total", NODES[3]),
        ("test_opens", NODES[4]),
        ("test_price[2-x/y]", NODES[2]),
        (r"tests\test_shop.py::test_opens", NODES[4]),
        (r"test_name[a\n\xe8]", NODES[5]),
    ],
)
def test_find_node_unique_part_is_enough(asked, expected):
    assert find_node(NODES, asked) == expected


def test_find_node_several_fit_takes_the_failed_one():
    assert find_node(NODES, "test_total", {NODES[3]}) == NODES[3]
    assert find_node(NODES, "test_price", {NODES[1]}) == NODES[1]


@pytest.mark.parametrize("asked", ["test_total", "test_price", "test_price["])
def test_find_node_several_fit_are_listed(asked):
    with pytest.raises(UnknownTest, match="test_"):
        find_node(NODES, asked)


def test_find_node_part_of_a_word_does_not_fit_and_near_ids_are_named():
    with pytest.raises(UnknownTest, match=r"no test of the run is called 'open'; the nearest: .*test_opens"):
        find_node(NODES, "open")
    with pytest.raises(UnknownTest, match="no tests; record them with `pytest --clew`"):
        find_node([], "test_a")
    with pytest.raises(UnknownTest, match=NODES[0]):
        find_node(NODES, "")
