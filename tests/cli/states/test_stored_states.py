"""`clew run --writes`, then `clew why`: the last writer of a row or a key that a line read, in any process."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from clew.graph.store.store import open_graph
from clew.records.format.event import Kind
from clew.records.format.stored_states import loaded
from tests.support.programs import redis_server
from tests.support.programs.recorded_program import clew, record, why

SHOP = """
import logging, sqlite3, subprocess, sys, threading
logging.basicConfig()
log = logging.getLogger("shop")
class Stock:
    def __init__(self): self.database = sqlite3.connect("shop.db", check_same_thread=False)
    def create(self):
        with self.database:
            self.database.execute("CREATE TABLE stock (sku TEXT PRIMARY KEY, pieces INT, price INT)")
            self.database.executemany("INSERT INTO stock VALUES (?, ?, ?)", [("tea", 10, 3), ("cup", 40, 9)])
    def pieces(self, sku):
        cursor = self.database.cursor()
        cursor.execute('''
            SELECT pieces
            FROM stock WHERE sku = :sku''', {"sku": sku})
        return cursor.fetchone()[0]
    def set_pieces(self, sku, pieces):
        self.database.execute("UPDATE stock SET pieces = ? WHERE sku = ?", (pieces, sku))
    def set_price(self, sku, price):
        self.database.execute("UPDATE stock SET price = ? WHERE sku = ?", (price, sku))
def check(stock, sku):
    left = stock.pieces(sku)
    if left < 5: log.error("only %d of %s", left, sku)
def other_process():
    subprocess.run([sys.executable, "app.py", "other"], check=True)
def count_again(stock, sku):
    stock.set_pieces(sku, 1)
"""
MAIN = """
if sys.argv[1:] == ["other"]: other()
else: main()
"""


def shop(folder, source, *options):
    return record(folder, SHOP + textwrap.dedent(source) + MAIN, options=["--writes", *options])


def accesses(folder):
    run = max((folder / ".clew" / "runs").iterdir(), key=lambda found: found.stat().st_mtime_ns)
    graph = open_graph(run)[0]
    return [loaded(graph.text(row)) for row in graph.rows_of([Kind.ACCESS]).tolist()]


def test_why_names_the_process_that_wrote_the_row(tmp_path):
    folder = shop(
        tmp_path,
        """
        def main():
            stock = Stock(); stock.create(); other_process(); check(stock, "tea")
        def other():
            stock = Stock()
            with stock.database: count_again(stock, "tea")
            with stock.database: stock.set_pieces("cup", 2); stock.set_price("tea", 7)
        """,
    )
    told, sure = why(folder, "only 1 of tea")
    assert "Stock.pieces read stock['tea'] (pieces = 1), which Stock.set_pieces wrote (app.py:18)" in told
    assert "called by count_again, in process other (" in told and "set_price" not in told
    assert sure.startswith("How sure: inferred from what the source reads")


def test_write_that_was_not_committed_before_the_read_is_not_its_writer(tmp_path):
    folder = shop(
        tmp_path,
        """
        def main():
            stock, second, third = Stock(), Stock(), Stock()
            stock.create()
            with stock.database: count_again(stock, "tea")
            count_back(second); second.database.rollback()
            count_late(third)
            check(stock, "tea")
            third.database.commit()
        def count_back(stock): stock.set_pieces("tea", 77)
        def count_late(stock): stock.set_pieces("tea", 88)
        """,
    )
    told, _ = why(folder, "only 1 of tea")
    assert "(pieces = 1), which Stock.set_pieces wrote" in told and "called by count_again" in told and "77" not in told
    listed = clew(folder, "why", "--written", "stock['tea']").stdout
    assert "['tea'] pieces = 77 (rolled back)" in listed and "['tea'] pieces = 88 " in listed and "cup" not in listed


def test_connection_sees_its_own_write_before_the_commit(tmp_path):
    folder = shop(
        tmp_path,
        """
        def main():
            stock = Stock(); stock.create()
            count_again(stock, "tea"); check(stock, "tea")
            stock.database.rollback()
        """,
    )
    told, _ = why(folder, "only 1 of tea")
    assert "(pieces = 1), which Stock.set_pieces wrote" in told and "called by count_again" in told


def test_lost_update_names_the_write_that_was_overwritten(tmp_path):
    folder = shop(
        tmp_path,
        """
        def main():
            stock = Stock(); stock.create()
            sell(stock, other_process)
            check(stock, "tea")
        def sell(stock, meanwhile):
            left = stock.pieces("tea")
            meanwhile()
            with stock.database: stock.set_pieces("tea", left - 6)
        def other(): sell(Stock(), lambda: None)
        """,
    )
    told, _ = why(folder, "only 4 of tea")
    assert "(pieces = 4), which Stock.set_pieces wrote" in told
    assert (
        "MainThread had last read it at app.py:13; in between, Stock.set_pieces wrote stock['tea'] (pieces = 4)" in told
    )
    assert "in process other (" in told and told.endswith("That update is lost.")


def test_row_that_is_not_known_is_some_row_of_the_table(tmp_path):
    folder = shop(
        tmp_path,
        """
        def main():
            stock = Stock(); stock.create(); other_process()
            total(stock)
        def total(stock):
            (found,) = stock.database.execute("SELECT sum(a.pieces) FROM stock a JOIN stock b ON a.sku = b.sku").fetchone()
            if found < 50: log.error("total of %d", found)
        def other():
            stock = Stock()
            with stock.database: count_again(stock, "cup")
        """,
    )
    told, _ = why(folder, "total of 11")
    assert "total read some row of stock (pieces = 1), which Stock.set_pieces wrote" in told


def test_order_of_two_processes_without_recorded_synchronisation_is_that_of_their_clocks(tmp_path):
    folder = shop(
        tmp_path,
        """
        import time
        def main():
            stock = Stock(); stock.create()
            child = subprocess.Popen([sys.executable, "app.py", "other"])
            while stock.pieces("tea") == 10: time.sleep(0.05)
            time.sleep(0.1)
            check(stock, "tea")
            child.wait()
        def other():
            stock = Stock()
            with stock.database: count_again(stock, "tea")
        """,
    )
    told, _ = why(folder, "only 1 of tea")
    assert "; by the clocks of the two processes the write came first." in told


def test_without_writes_no_access_is_recorded(tmp_path):
    source = """
    def main():
        stock = Stock(); stock.create(); count_again(stock, "tea"); check(stock, "tea")
    """
    folder = record(tmp_path, SHOP + textwrap.dedent(source) + MAIN)
    assert accesses(folder) == []
    assert "wrote" not in why(folder, "only 1 of tea")[0]


def test_redacted_columns_and_texts_are_not_in_the_trace(tmp_path):
    (tmp_path / "app.esl").write_text(
        'scope app:**; record writes; redact "*token*"; logs level INFO; include sqlite3;'
    )
    (tmp_path / "start.py").write_text("import app\n")
    source = """
    import logging, sqlite3
    log = logging.getLogger("app")
    def main():
        database = sqlite3.connect("app.db")
        database.execute("CREATE TABLE session (user TEXT, token TEXT, pin INT)")
        put(database, "ida-lovelace", "s3cret-value", 271828)
        log.error("token of %d", read(database, "ida-lovelace"))
    def put(database, user, token, pin):
        database.execute("INSERT INTO session VALUES ('ida-lovelace', ?, ?)", (token, pin))
        database.execute("UPDATE session SET token = ? WHERE user = ?", (token, user))
    def read(database, user):
        sql = "SELECT token FROM session WHERE user = ? AND token = ?"
        return len(database.execute(sql, (user, "s3cret-value")).fetchone()[0])
    main()
    """
    folder = record(tmp_path, textwrap.dedent(source), options=["--spec", "app.esl"])
    told = str(accesses(folder))
    assert len(accesses(folder)) == 4 and "s3cret" not in told and "lovelace" not in told
    assert "read perhaps session[a str, <redacted>], which put wrote" in clew(folder, "why", "token of 12").stdout


KEYS = """
import asyncio, logging, subprocess, sys, time
import redis, redis.asyncio
logging.basicConfig()
log = logging.getLogger("keys")
class Tokens:
    def __init__(self): self.server = redis.Redis(unix_socket_path=PATH, decode_responses=True)
    def store(self, name, token, **options): self.server.set(f"token:{name}", token, **options)
    def load(self, name): return self.server.get(f"token:{name}")
    def score(self, name, points): self.server.hset("points", name, points)
def mail(tokens):
    token = tokens.load("mail")
    if token != "new": log.error("refused with %s", token)
def other_process(): subprocess.run([sys.executable, "app.py", "other"], check=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    try:
        with redis_server.serving(tmp_path_factory.mktemp("redis")) as path:
            yield path
    except redis_server.NotThere as reason:
        if "CLEW_REQUIRE" in os.environ:
            raise
        pytest.skip(str(reason))


@pytest.fixture
def keys(tmp_path, server):
    pytest.importorskip("redis")

    def run(source, *options):
        code = f"import redis; redis.Redis(unix_socket_path={server!r}).flushall()"
        subprocess.run([sys.executable, "-c", code], check=True)
        text = f"PATH = {server!r}\n" + KEYS + textwrap.dedent(source) + MAIN
        return record(tmp_path, text, options=options or ["--writes"])

    return run


def test_why_names_the_process_that_wrote_the_key(keys):
    folder = keys(
        """
        def main():
            tokens = Tokens(); tokens.store("mail", "new"); other_process(); mail(tokens)
        def other(): refresh(Tokens())
        def refresh(tokens): tokens.store("mail", "old")
        """
    )
    told, sure = why(folder, "refused with old")
    said = "token:mail = 'old', which Tokens.store wrote (app.py:9), called by refresh, in process other"
    assert f"Tokens.load read {said}" in told
    assert sure.startswith("How sure: recorded")


def test_removed_key_and_key_that_expires_are_told(keys):
    folder = keys(
        """
        def main():
            tokens = Tokens(); tokens.store("mail", "new"); forget(tokens); mail(tokens)
            tokens.store("mail", "short", px=1); time.sleep(0.1); late(tokens)
        def forget(tokens): tokens.server.delete("token:mail")
        def late(tokens):
            if tokens.load("mail") is None: log.error("too late")
        """
    )
    assert "token:mail, which forget deleted" in why(folder, "refused with None")[0]
    told = why(folder, "too late")[0]
    assert "token:mail, which did not exist; the server removes it some time after Tokens.store wrote" in told


def test_value_that_no_recorded_write_explains_has_no_writer(keys):
    folder = keys(
        """
        def main():
            tokens = Tokens(); tokens.store("mail", "new")
            subprocess.run([sys.executable, "-S", "-E", "-c", QUIET, PATH], check=True)
            time.sleep(0.1); mail(tokens)
        QUIET = '''
        import socket, sys
        one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[1])
        one.sendall(b"SET token:mail foreign\\\\r\\\\n"); one.recv(9)
        '''.replace("\\n        ", "\\n")
        """
    )
    told = why(folder, "refused with foreign")[0]
    assert "token:mail = 'foreign', which no recorded write explains; the last one is that Tokens.store wrote" in told


def test_field_of_a_hash_is_a_state_and_pipelines_are_followed(keys):
    folder = keys(
        """
        def main():
            asyncio.run(fill())
            board = Tokens(); board.score("ida", 40); board.score("bob", 7); check(board)
        async def fill():
            async with redis.asyncio.Redis(unix_socket_path=PATH) as client, client.pipeline() as pipe:
                pipe.hset("points", mapping={"ida": 10, "eve": 5})
                await pipe.execute()
        def check(board):
            for name in ("ida", "eve"):
                points = board.server.hget("points", name)
                if points: log.error("%s has %s points", name, points)
        """
    )
    assert "points['ida'] = 40, which Tokens.score wrote" in why(folder, "ida has 40")[0]
    assert "points['eve'] = 5, which fill wrote" in why(folder, "eve has 5")[0]
    listed = json.loads(clew(folder, "why", "--written", "points['ida']", "--json").stdout)["writes"]
    written = [(write["change"], write["writer"]) for write in listed]
    assert written == [("['ida'] = 10", "fill"), ("['ida'] = 40", "Tokens.score")]


def test_texts_of_keys_are_not_recorded_with_a_redact_rule(keys, tmp_path):
    (tmp_path / "app.esl").write_text('scope app:**; record writes; redact "*card*"; include redis;')
    folder = keys(
        """
        def main():
            tokens = Tokens(); tokens.store("hidden-name", "hidden-value"); log.error("is %d", len(tokens.load("hidden-name")))
        """,
        "--spec",
        "app.esl",
    )
    told = str(accesses(folder))
    assert len(accesses(folder)) == 2 and "hidden" not in told
    assert "str of 12" not in told and "which Tokens.store wrote" in clew(folder, "why", "is 12").stdout
