import time

import pytest

from bookshop.stock import HOLD_SECONDS, Stock
from bookshop.warehouse import Order, Warehouse
from bookshop.web import Page, Shop


@pytest.fixture
def stock():
    return Stock()


@pytest.fixture
def page(stock):
    shop = Shop(stock, Warehouse(stock))
    page = Page.__new__(Page)
    page.server = shop
    yield page
    shop.server_close()


def test_a_reserved_book_is_off_the_shelf(page, stock):
    assert page.reserve({"title": "Emma"}) == {"number": 1}
    assert stock.copies["Emma"] == 39


def test_a_bought_book_is_queued(page):
    page.buy(page.reserve({"title": "Dune"}) | {"gift": False})
    assert page.server.warehouse.orders.get() == Order(1, gift=False)


def test_a_forgotten_reservation_is_released(page, stock):
    page.reserve({"title": "Ulysses"})
    time.sleep(HOLD_SECONDS)
    stock.sweep()
    assert stock.copies["Ulysses"] == 40
