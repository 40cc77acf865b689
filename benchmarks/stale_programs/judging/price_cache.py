"""A price is changed, but the cache that a preloading thread had filled keeps the old one."""

import logging
import threading

logging.basicConfig(level=logging.INFO, format="[%(levelname)s] %(message)s")

prices = {"coffee": 390, "tea": 310, "milk": 120}
labels = {}


def format_price(cents):
    return f"{cents // 100}.{cents % 100:02}"


def label_for(article):
    if article not in labels:
        labels[article] = f"{article} {format_price(prices[article])}"
    return labels[article]


def preload(articles, warm):
    for article in articles:
        label_for(article)
    warm.set()


class Register:
    def __init__(self):
        self.receipt = []

    def scan(self, article):
        expected = format_price(prices[article])
        label = label_for(article)
        if not label.endswith(expected):
            logging.error("label says %r but the price is %s", label, expected)
        self.receipt.append((article, prices[article]))


def raise_price(article, cents):
    prices[article] = cents


def office(warm, changed):
    warm.wait(5)
    raise_price("tea", 340)
    changed.set()


if __name__ == "__main__":
    warm, changed = threading.Event(), threading.Event()
    threads = [
        threading.Thread(target=office, args=(warm, changed), name="office"),
        threading.Thread(target=preload, args=(sorted(prices), warm), name="preloader"),
    ]
    for thread in threads:
        thread.start()
    changed.wait(5)
    register = Register()
    for article in ("coffee", "tea"):
        register.scan(article)
    for thread in threads:
        thread.join()
