"""`clew run --writes`, then `clew why`: the last writer of what a line read, as a user sees it."""

import json
import textwrap

import pytest

from tests.support.programs.recorded_program import clew, record, why

HEAD = """
import logging, threading, time
from dataclasses import dataclass, field
logging.basicConfig()
log = logging.getLogger("app")

def run(function, *arguments, name):
    thread = threading.Thread(target=function, args=arguments, name=name)
    thread.start(); thread.join()
"""

UNORDERED = "nothing recorded orders this write and the read"
CART = """
class Cart:
    def __init__(self): self.items = {}; self.discount = 0
    def add(self, sku, n): self.items[sku] = self.items.get(sku, 0) + n
    def apply_coupon(self, percent): self.discount = percent
    def total(self, prices): return sum(prices[s] * n for s, n in self.items.items()) * (100 - self.discount) / 100
def marketing(cart): cart.apply_coupon(110)
def checkout(cart, prices):
    total = cart.total(prices)
    if total < 0: log.error("negative total %s", total)
cart = Cart()
cart.add("book", 2)
run(marketing, cart, name="campaign")
checkout(cart, {"book": 10})
"""

ORDER = """
@dataclass
class Order:
    sku: str
    state: str = "new"
class Book:
    def __init__(self): self.orders = {}
    def put(self, key, order): self.orders[key] = order
    def cancel(self, key):
        order = self.orders[key]
        order.state = "cancelled"
    def ship(self, key):
        order = self.orders[key]
        if order.state != "new":
            raise RuntimeError(f"order {key} is {order.state}")
book = Book()
book.put("a", Order("book"))
run(book.cancel, "a", name="janitor")
try: book.ship("a")
except RuntimeError: log.exception("cannot ship")
"""

STOCK = """
stock = {"book": 3, "pen": 9}
def sell(sku): stock[sku] -= 2
def check(sku):
    if stock[sku] < 0: log.error("negative stock of %s", sku)
sell("book"); sell("book"); sell("pen"); check("book")
"""

SETTINGS = """
class Settings:
    def __init__(self): self.limit = 5
    def load(self, **values):
        for name, value in values.items():
            setattr(self, name, value)
    def check(self):
        if self.limit < 3: log.error("settings are too low")
settings = Settings()
run(lambda: settings.load(limit=1, other=9), name="admin")
settings.check()
"""

PRIVATE = """
class Sessions:
    def __init__(self): self.__open = {}
    def add(self, token): self.__open[token] = 1
    def drop(self, token): del self.__open[token]
    def check(self, token):
        if token not in self.__open: log.error("no session %s", token)
sessions = Sessions()
sessions.add("t-1")
run(sessions.drop, "t-1", name="sweeper")
sessions.check("t-1")
"""

LIMIT = """
limit = 5
def configure(n):
    global limit
    limit = n
def check():
    if limit < 3: log.error("the limit is too low")
run(configure, 2, name="admin"); check()
"""

CLOSURE = """
def counter():
    n = 0
    def bump():
        nonlocal n
        n += 1
    def check():
        if n > 2: log.error("too many")
    return bump, check
def main():
    bump, check = counter()
    for _ in range(3): bump()
    check()
main()
"""

QUEUE = """
class Jobs:
    def __init__(self): self.waiting = []
    def add(self, job): self.waiting.append(job)
    def report(self):
        if len(self.waiting) > 1: log.error("the queue is full")
jobs = Jobs()
run(jobs.add, 1, name="producer"); run(jobs.add, 2, name="second"); jobs.report()
"""

FROZEN = """
@dataclass(frozen=True)
class Plan:
    limit: int
    def force(self, limit): object.__setattr__(self, "limit", limit)
    def check(self):
        if self.limit < 3: log.error("the plan is too small")
plan = Plan(9)
run(plan.force, 1, name="admin"); plan.check()
"""

NAMESPACE = """
class Lazy:
    def fill(self, value): self.__dict__["size"] = value
    def check(self):
        if self.size > 3: log.error("the size is wrong")
lazy = Lazy(); run(lazy.fill, 8, name="filler"); lazy.check()
"""

HEAP = """
import heapq
from bisect import insort
class Agenda:
    def __init__(self): self.heap = []; self.days = [3]
    def plan(self, at): heapq.heappush(self.heap, at)
    def add(self, day): insort(self.days, day)
    def check(self):
        if self.heap[0] < 0: log.error("planned in the past")
    def look(self):
        if len(self.days) > 1: log.error("two days")
agenda = Agenda()
agenda.plan(4); run(agenda.plan, -2, name="importer"); agenda.check()
run(agenda.add, 9, name="adder"); agenda.look()
"""

CONTEXT = """
import asyncio, contextvars
user = contextvars.ContextVar("user")
options = contextvars.ContextVar("options")
def act_as(name): user.set(name)
def choose(lang): options.get().update({"lang": lang})
def check():
    if user.get() == "guest": log.error("a guest in the office")
def look():
    if options.get()["lang"] != "de": log.error("a wrong language")
async def child(): act_as("other"); await asyncio.sleep(0); choose("fr")
async def request(name):
    act_as(name); options.set({"lang": "de"})
    await asyncio.create_task(child(), name="child")
    await asyncio.create_task(reader(), name="reader")
async def reader(): check(); look()
async def main():
    await asyncio.create_task(request("guest"), name="first")
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("source", "question", "said"),
    [
        (
            CART,
            "negative total",
            ["Cart.discount = 110", "Cart.apply_coupon(110)", "called by marketing", "in campaign"],
        ),
        (ORDER, "cannot ship", ["Order.state = 'cancelled'", "Book.cancel wrote", "in janitor"]),
        (STOCK, "negative stock", ["stock['book'] = -1", "sell wrote"]),
        (SETTINGS, "settings are too low", ["Settings.limit = 1", "Settings.load wrote", "in admin"]),
        (PRIVATE, "no session t-1", ["Sessions.__open['t-1'], which Sessions.drop deleted", "in sweeper"]),
        (LIMIT, "limit is too low", ["limit = 2", "configure(2) wrote", "in admin"]),
        (CLOSURE, "too many", ["n = 3", "bump wrote", "called by main"]),
        (QUEUE, "queue is full", ["Jobs.waiting", "Jobs.add called append(", "in second"]),
        (FROZEN, "the plan is too small", ["Plan.limit = 1", "Plan.force wrote", "in admin"]),
        (NAMESPACE, "the size is wrong", ["Lazy.size = 8", "Lazy.fill(8) wrote", "in filler"]),
        (HEAP, "planned in the past", ["Agenda.heap", "Agenda.plan called heappush(-2)", "in importer"]),
        (HEAP, "two days", ["Agenda.days", "Agenda.add called insort(9)", "in adder"]),
        (
            CONTEXT,
            "a guest in the office",
            ["user, on which act_as called set('guest')", "called by request", "in first"],
        ),
        (CONTEXT, "a wrong language", ["options", "choose called update(a dict)", "called by child", "in child"]),
    ],
    ids=[
        "attribute",
        "dataclass",
        "item",
        "setattr",
        "private",
        "global",
        "closure",
        "container",
        "frozen",
        "namespace",
        "heap",
        "bisect",
        "context",
        "in-context",
    ],
)
def test_why_names_the_last_writer_of_what_the_line_read(tmp_path, source, question, said):
    told, sure = why(record(tmp_path, HEAD + source, options=["--writes"]), question)
    assert [part for part in said if part not in told] == []
    assert sure.startswith("How sure: inferred from what the source reads")


def test_why_without_writes_says_nothing_about_writers(tmp_path):
    told, _ = why(record(tmp_path, HEAD + CART), "negative total")
    assert "wrote" not in told


def test_object_at_a_used_address_has_no_writers_of_the_object_before(tmp_path):
    source = """
    class Box:
        def __init__(self, n): self.n = n
        def spoil(self): self.n = -1
        def check(self):
            if self.n < 9: log.error("a small box")
    def main():
        for _ in range(50):
            Box(1).spoil()
        Box(2).check()
    main()
    """
    folder = record(tmp_path, HEAD + textwrap.dedent(source), options=["--writes"])
    done = clew(folder, "why", "a small box")
    assert "spoil" not in done.stdout


def test_values_of_redacted_names_and_strings_are_not_in_the_trace(tmp_path):
    (tmp_path / "app.esl").write_text('scope app:**; record writes; redact "*token*"; logs level INFO;')
    source = """
    class Session:
        def __init__(self): self.token = ""; self.user = ""
        def login(self, token, user): self.token = token; self.user = user
        def check(self):
            if self.token and self.user: log.error("logged in")
    def main():
        session = Session()
        session.login("s3cret-value", "visible-user")
        session.check()
    if __name__ == "app": main()
    """
    (tmp_path / "start.py").write_text("import app\n")
    folder = record(
        tmp_path, HEAD + textwrap.dedent(source).replace('if __name__ == "app": main()', "main()"),
        options=["--spec", "app.esl"],
    )  # fmt: skip
    told = clew(folder, "why", "logged in").stdout
    assert "s3cret" not in told and "visible-user" not in told
    assert "<redacted>" in told or "str of 12 characters" in told


def test_lost_update_of_two_threads_is_told_as_a_race(tmp_path):
    source = """
    class Account:
        def __init__(self): self.balance = 100
        def withdraw(self, n, read, other):
            known = self.balance
            read.set(); other.wait(5)
            self.balance = known - n
        def check(self):
            if self.balance != 70: log.error("wrong balance %d", self.balance)
    account = Account()
    one, two = threading.Event(), threading.Event()
    first = threading.Thread(target=account.withdraw, args=(10, one, two), name="rent")
    second = threading.Thread(target=account.withdraw, args=(20, two, one), name="food")
    first.start(); second.start(); first.join(); second.join()
    account.check()
    """
    told, _ = why(record(tmp_path, HEAD + textwrap.dedent(source), options=["--writes"]), "wrong balance")
    assert "Account.withdraw wrote" in told and ("in rent" in told or "in food" in told)


def test_written_lists_every_write_of_a_state(tmp_path):
    folder = record(tmp_path, HEAD + CART + "other = Cart(); other.add('pen', 1)\n", options=["--writes"])
    lines = clew(folder, "why", "--written", "Cart.discount").stdout.splitlines()
    assert lines[0] == "3 writes of Cart.discount, the newest last"
    assert [line for line in lines if "= 110" in line and "Cart.apply_coupon(110)" in line and "marketing" in line]
    items = clew(folder, "why", "--written", "items", "--json").stdout
    told = [(write["object"], write["change"]) for write in json.loads(items)["writes"]]
    assert told == [(1, "= a dict"), (1, "['book'] = 2"), (2, "= a dict"), (2, "['pen'] = 1")]


def test_written_of_an_unknown_state_suggests_similar_ones(tmp_path):
    folder = record(tmp_path, HEAD + CART, options=["--writes"])
    done = clew(folder, "why", "--written", "Cart.discont")
    assert done.returncode == 2 and "did you mean Cart.discount" in done.stderr and "Traceback" not in done.stderr


def test_written_without_writes_says_how_to_record_them(tmp_path):
    done = clew(record(tmp_path, HEAD + CART), "why", "--written", "Cart.discount")
    assert done.returncode == 2 and "clew run --writes" in done.stderr


def test_value_is_not_told_where_later_writes_were_not_recorded(tmp_path):
    source = """
    class Meter:
        def __init__(self): self.n = 0
        def spin(self, count):
            for i in range(count): self.n = i
        def check(self):
            if self.n > 5: log.error("too high")
    meter = Meter()
    meter.spin(4_000_000)
    meter.check()
    """
    # The last budget that is given counts.
    folder = record(tmp_path, HEAD + textwrap.dedent(source), options=["--writes", "--budget", "1%"])
    told = clew(folder, "why", "too high").stdout
    assert "others may be missing" in told and "which Meter.spin wrote" not in told


def test_answer_is_from_the_source_that_ran(tmp_path):
    folder = record(tmp_path, HEAD + CART, options=["--writes"])
    before, _ = why(folder, "negative total")
    (folder / "app.py").write_text("# nothing of this ran\n" * 60)
    assert why(folder, "negative total")[0] == before


def test_item_whose_value_the_event_names_comes_before_one_that_was_written_later(tmp_path):
    source = """
    class Prices:
        def __init__(self): self.known = {}
        def put(self, sku, price): self.known[sku] = price
        def check(self):
            for price in self.known.values():
                if price > 900: log.error("a price of %d", price)
    prices = Prices()
    prices.put("tea", 977); prices.put("cup", 3); prices.put("pot", 4); prices.put("jar", 5); prices.put("can", 6)
    prices.check()
    """
    told, _ = why(record(tmp_path, HEAD + textwrap.dedent(source), options=["--writes"]), "a price of 977")
    assert "an item of Prices.known, perhaps Prices.known['tea'] = 977" in told.split(". ")[0]


def test_object_whose_value_the_event_names_is_the_likeliest_of_unknown_ones(tmp_path):
    source = """
    class Box:
        def __init__(self, n): self.n = n
        def fill(self, n): self.n = n
    def pick(boxes): return max(boxes, key=lambda box: box.n)
    def check(boxes):
        found = pick(boxes)
        if found.n > 70: log.error("%d is too much", found.n)
    boxes = [Box(1), Box(2), Box(3)]
    boxes[0].fill(78); boxes[1].fill(12); boxes[2].fill(13)
    check(boxes)
    """
    told, _ = why(record(tmp_path, HEAD + textwrap.dedent(source), options=["--writes"]), "78 is too much")
    assert "Box.n = 78" in told.split(". ")[0]


@pytest.mark.parametrize(
    ("writer", "reader", "told"),
    [
        (
            "with self.lock:",
            "with self.lock:",
            "only self.lock, which both functions hold there, orders this write and the read",
        ),
        ("with self.lock:", "with self.other:", f"{UNORDERED}, but both functions hold a lock there"),
        ("with self.lock:", "if True:", f"{UNORDERED}, so it is a race unless a caller holds a lock"),
        # The lock is released before the write.
        (
            "with self.lock: pass\n            if True:",
            "with self.lock:",
            f"{UNORDERED}, so it is a race unless a caller holds a lock",
        ),
    ],
    ids=["same lock", "another lock", "no lock", "released lock"],
)
def test_race_is_told_only_where_a_function_holds_no_lock(tmp_path, writer, reader, told):
    source = f"""
    class Stock:
        def __init__(self):
            self.lock, self.other, self.left = threading.Lock(), threading.Lock(), 5
        def sell(self):
            {writer}
                pass
                self.left = -2
        def check(self):
            {reader}
                if self.left < 0: log.error("negative stock")
    stock = Stock()
    seller = threading.Thread(target=stock.sell, name="seller")
    seller.start()
    while stock.left > 0: time.sleep(0.001)
    stock.check()
    """
    told_of, _ = why(record(tmp_path, HEAD + textwrap.dedent(source), options=["--writes"]), "negative stock")
    assert f"; {told}." in told_of, told_of


def test_lock_of_another_class_is_another_lock(tmp_path):
    source = """
    class Shelf:
        def __init__(self): self.lock = threading.Lock()
        def sell(self, stock):
            with self.lock:
                stock.left = -2
    class Stock:
        def __init__(self): self.lock, self.left = threading.Lock(), 5
        def check(self):
            with self.lock:
                if self.left < 0: log.error("negative stock")
    stock = Stock()
    seller = threading.Thread(target=Shelf().sell, args=(stock,), name="seller")
    seller.start()
    while stock.left > 0: time.sleep(0.001)
    stock.check()
    """
    told, _ = why(record(tmp_path, HEAD + textwrap.dedent(source), options=["--writes"]), "negative stock")
    assert f"; {UNORDERED}, but both functions hold a lock there." in told, told
