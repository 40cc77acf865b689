"""A basket gets a coupon of more than 100 percent from the campaign's thread, and its total is negative."""

import logging
import queue
import threading

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("shop")
PRICES = {"book": 12.5, "pen": 1.2, "lamp": 30.0}
CAMPAIGNS = {"SPRING": 15, "STAFF": 30, "WELCOME": 110}


class Basket:
    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.lines: dict[str, int] = {}
        self.percent_off = 0

    def put(self, article: str, count: int = 1) -> None:
        self.lines[article] = self.lines.get(article, 0) + count

    def redeem(self, percent: int) -> None:
        self.percent_off = percent

    def total(self) -> float:
        full = sum(PRICES[article] * count for article, count in self.lines.items())
        return round(full * (100 - self.percent_off) / 100, 2)


def greet_customer(basket: Basket) -> None:
    basket.redeem(CAMPAIGNS["WELCOME"])


def staff_discount(basket: Basket) -> None:
    if basket.owner.endswith("@shop.example"):
        basket.redeem(CAMPAIGNS["STAFF"])


def run_campaigns(baskets: "queue.Queue[Basket | None]") -> None:
    while (basket := baskets.get()) is not None:
        staff_discount(basket)
        greet_customer(basket)
        baskets.task_done()


def check_out(basket: Basket) -> float:
    to_pay = basket.total()
    if to_pay < 0:
        log.error("basket of %s costs %s", basket.owner, to_pay)
    return to_pay


def main() -> None:
    opened: queue.Queue[Basket | None] = queue.Queue()
    campaigns = threading.Thread(target=run_campaigns, args=(opened,), name="campaigns")
    campaigns.start()
    basket = Basket("nora@mail.example")
    basket.redeem(CAMPAIGNS["SPRING"])
    for article in ("book", "pen", "pen"):
        basket.put(article)
    opened.put(basket)
    opened.join()
    basket.put("lamp")
    check_out(basket)
    opened.put(None)
    campaigns.join()


if __name__ == "__main__":
    main()
