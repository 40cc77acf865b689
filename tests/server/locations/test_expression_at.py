"""The expression under the cursor whose value can be asked about."""

import pytest

from clew.server.locations.expression_at import expression_at

TEXT = "def total(cart, prices):\n    é = cart.total(prices)[0] + cart.rate\n    return 'x'\n"


@pytest.mark.parametrize(
    ("words", "expression"),
    [
        ("é", "é"),
        ("cart.total", "cart"),
        ("total(prices)", "cart.total(prices)"),
        ("prices)[", "prices"),
        ("[0]", "cart.total(prices)"),
        ("0]", "cart.total(prices)[0]"),
        ("rate", "cart.rate"),
    ],
)
def test_expression_under_the_cursor_is_the_innermost_value(words, expression):
    line = TEXT.splitlines()[1]
    assert expression_at(TEXT, 2, line.index(words)) == expression


def test_expression_is_empty_where_there_is_no_value_or_no_valid_text():
    assert expression_at(TEXT, 3, 12) == ""
    assert expression_at(TEXT, 99, 0) == ""
    assert expression_at("def f(:\n  x", 2, 2) == ""
