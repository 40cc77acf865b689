"""The flags of a shop are reloaded from a copy that was read before the release, which takes the release back."""

import json
import logging
import tempfile
import threading
from pathlib import Path

logging.basicConfig(level=logging.INFO, format="%(levelname)s [%(name)s] %(message)s")
log = logging.getLogger("flags")

FLAGS: dict = {}
copy_is_read = threading.Event()
released = threading.Event()


def read_copy(path: Path) -> dict:
    return json.loads(path.read_text())


def use_flags(flags: dict) -> None:
    global FLAGS
    FLAGS = flags


def poll(path: Path) -> None:
    flags = read_copy(path)
    copy_is_read.set()
    released.wait(5)  # validates them against the service of the other team
    use_flags(flags)


def release(path: Path, flag: str) -> None:
    flags = {**read_copy(path), flag: True}
    path.write_text(json.dumps(flags))
    use_flags(flags)
    log.info("released %s", flag)


def is_on(flag: str) -> bool:
    return bool(FLAGS.get(flag))


def handle_checkout(customer: str) -> str:
    if is_on("checkout_v2"):
        return f"new checkout for {customer}"
    log.error("%s sees the old checkout after the release", customer)
    return "old checkout"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "flags.json")
        path.write_text('{"checkout_v2": false, "dark_mode": true}')
        use_flags(read_copy(path))
        poller = threading.Thread(target=poll, args=(path,), name="flag-poller")
        poller.start()
        copy_is_read.wait(5)
        release(path, "checkout_v2")
        released.set()
        poller.join()
    handle_checkout("nora")


if __name__ == "__main__":
    main()
