"""Check how many orders were served."""

import logging
import sys

log = logging.getLogger("shop.audit")


def audit(served: int) -> None:
    if served < 20:
        log.warning("audit: only %s of 20 orders were served", served)


def main() -> None:
    logging.basicConfig(
        filename="shop.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    audit(int(sys.argv[1]))


if __name__ == "__main__":
    main()
