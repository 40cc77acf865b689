"""A session's connection is used on both sides of a fork, and one process reads the reply of the other: psf/requests#4323.

The maintainers (also urllib3#850): a session must not be shared among processes; it has no way to see the fork.
"""

import http.server
import logging
import multiprocessing
import sys
import threading
import time

import requests

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(process)d %(message)s")
log = logging.getLogger("bank")
session = requests.Session()


class Accounts(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.path.strip("/")
        time.sleep(0.8 if name == "alice" else 0)
        body = f"account of {name}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def ask(url: str, name: str, patience: float) -> str:
    client = requests.Session() if "own" in sys.argv else session
    return client.get(f"{url}/{name}", timeout=patience).text


def ask_for_alice(url: str) -> None:
    try:
        ask(url, "alice", 0.5)
    except requests.Timeout:
        log.info("alice is asked to come back later")


def main() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Accounts)
    threading.Thread(target=server.serve_forever, daemon=True, name="accounts").start()
    url = f"http://127.0.0.1:{server.server_port}"
    log.info("the server answers: %s", session.get(f"{url}/test").text)
    worker = multiprocessing.get_context("fork").Process(target=ask_for_alice, args=(url,), name="worker")
    worker.start()
    time.sleep(0.3)
    shown = ask(url, "bob", 5)
    if shown == "account of bob":
        log.info("bob sees the %s", shown)
    else:
        log.error("bob sees the %s", shown)
    worker.join()


main()
