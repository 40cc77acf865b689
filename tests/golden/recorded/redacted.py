"""A login, whose secrets are nobody's business."""

import logging
import sys

log = logging.getLogger("shop.login")


class User:
    def __init__(self, name, password):
        self.name, self.password = name, password


def login(user, password, form):
    log.info("login of %s with password=%s", user.name, password)
    log.warning("card 1234-5678-1234-5678, %s", {"token": "t0ps3cret", "ok": 1})
    log.info("third")
    logging.getLogger("other").error("not captured")
    if not form:
        raise ValueError("no form for 1111-2222-3333-4444")


def find(session_token):
    return session_token


def main():
    logging.basicConfig(level=logging.INFO, stream=sys.stdout)
    ann, eve = User("ann", "hunter2"), User("eve", "hunter2")
    login(ann, "hunter2", {"Password": "hunter2", "deep": [{"api_token": b"t0ps3cret"}], "n": 1})
    find("t0ps3cret")
    try:
        login(eve, "", {})
    except ValueError:
        pass
    print("t0ps3cret" in sys.argv)


if __name__ == "__main__":
    main()
