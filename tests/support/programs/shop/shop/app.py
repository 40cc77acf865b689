"""Takes orders as tasks; one item is sold out meanwhile. Then an audit runs in another process."""

import asyncio
import logging
import subprocess
import sys

from shop.stock import SoldOut, Stock, Sweeper

log = logging.getLogger("shop")


async def order(stock: Stock, item: int) -> int:
    try:
        await asyncio.sleep(0)
        return check(stock, item)
    except SoldOut as problem:
        log.error("Order failed: %s", problem)
        raise


def check(stock: Stock, item: int) -> int:
    if not stock.lookup(item):
        raise SoldOut(f"item {item} is sold out")
    return item


async def sell(stock: Stock) -> int:
    orders = [asyncio.create_task(order(stock, item), name=f"order {item}") for item in range(20)]
    results = await asyncio.gather(*orders, return_exceptions=True)
    return sum(not isinstance(result, SoldOut) for result in results)


def main() -> None:
    logging.basicConfig(
        filename="shop.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    stock = Stock()
    sweeper = Sweeper(stock, 17)
    sweeper.start()
    sweeper.join()
    sold = asyncio.run(sell(stock))
    log.info("%s orders were served", sold)
    subprocess.run([sys.executable, "-m", "shop.audit", str(sold)], check=True)


if __name__ == "__main__":
    main()
