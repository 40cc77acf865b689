"""A small shop whose test of a discount fails, for sessions that are asked why."""

SHOP = """
class Cart:
    def __init__(self):
        self.prices, self.discount = [], 0

    def add(self, price):
        if price < 0:
            raise ValueError(f"negative {price}")
        self.prices.append(price)

    def apply_coupon(self, percent):
        self.discount += percent

    def total(self):
        return sum(self.prices) * (100 - self.discount) // 100
"""
TESTS = """
import pytest
from shop import Cart

def test_sum():
    cart = Cart()
    cart.add(5)
    assert cart.total() == 5

def test_discount():
    cart = Cart()
    cart.add(100)
    cart.apply_coupon(110)
    assert cart.total() >= 0
"""


def line_of(text: str, words: str) -> int:
    """Return the first line (from 1) that has some words."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)
