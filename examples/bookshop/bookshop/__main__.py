"""`python -m bookshop [CUSTOMERS]`: open the shop, let customers come, close it."""

import logging
import subprocess
import sys
import threading

from bookshop.stock import Stock
from bookshop.warehouse import Sweeper, Warehouse
from bookshop.web import Shop


def main() -> None:
    layout = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(filename="shop.log", filemode="w", level=logging.INFO, format=layout)
    customers = sys.argv[1] if len(sys.argv) > 1 else "60"
    stock = Stock()
    warehouse = Warehouse(stock)
    shop = Shop(stock, warehouse)
    for thread in (warehouse, Sweeper(stock), threading.Thread(target=shop.serve_forever, daemon=True)):
        thread.start()
    address = f"http://127.0.0.1:{shop.server_port}"
    subprocess.run([sys.executable, "-m", "bookshop.customers", address, customers], check=True)
    warehouse.orders.put(None)
    warehouse.join()


if __name__ == "__main__":
    main()
