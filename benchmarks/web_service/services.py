"""Run the shop and its second service as children until SIGTERM: `services.py PORT STOCK_PORT REDIS_PORT FOLDER [RUNNER…]`.

RUNNER are the words that run a script, if something else than this interpreter alone is to run the shop.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    port, stock_port, redis_port, folder, *runner = sys.argv[1:]
    stock = subprocess.Popen([sys.executable, str(HERE / "stock.py"), stock_port])
    shop = subprocess.Popen(
        [*(runner or [sys.executable]), str(HERE / "shop.py"), port, stock_port, redis_port, folder]
    )

    def end(_number: int, _frame: object) -> None:
        shop.terminate()

    signal.signal(signal.SIGTERM, end)
    shop.wait()
    stock.terminate()
    stock.wait()


if __name__ == "__main__":
    main()
