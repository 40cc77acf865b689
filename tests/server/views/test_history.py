"""The history of a state as the panel gets it: who wrote it and when, and which write the code in question read."""

import json
import textwrap

import pytest

from clew.server.handlers import answer
from clew.server.session.session import Session
from tests.support.programs.failing_shop import line_of
from tests.support.programs.recorded_program import clew, record

CARTS = """
import threading
class Cart:
    def __init__(self):
        self.items = {}
        self.discount = 0
    def add(self, sku, n):
        self.items[sku] = n
    def apply_coupon(self, percent):
        self.discount = percent
    def total(self, prices):
        gross = sum(prices[sku] * n for sku, n in self.items.items())
        return gross * (100 - self.discount) / 100
    def reset(self):
        before = self.discount
        self.discount = -1
        return before
def marketing(cart):
    cart.apply_coupon(110)
other = Cart()
other.apply_coupon(5)
cart = Cart()
cart.add("book", 2)
cart.add("pen", 1)
thread = threading.Thread(target=marketing, args=(cart,), name="campaign")
thread.start()
thread.join()
cart.total({"book": 10, "pen": 1})
cart.reset()
"""


@pytest.fixture(scope="module")
def carts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("carts")
    return record(folder, CARTS, options=["--writes", "--name", "carts"])


def history(folder, expression="", words="", **params):
    """Return the history of an expression in the first line of the program that has some words, or of `params`."""
    if words:
        text = (folder / "app.py").read_text()
        params |= {"expression": expression, "location": {"path": str(folder / "app.py"), "line": line_of(text, words)}}
    return answer(Session(folder), "clew/history", params)


def changes(found):
    return [write["change"] for write in found["writes"]]


def marked(found):
    return [write["change"] for write in found["writes"] if write["isMarked"]]


def test_history_at_a_line_has_the_writes_of_the_object_that_the_newest_call_got(carts):
    found = history(carts, "self.discount", "return gross")
    assert found["state"] == "Cart.discount"
    assert changes(found) == ["= 0", "= 110", "= -1"]
    assert marked(found) == ["= 110"]
    assert found["reader"] == "Cart.total"
    assert found["last"]["sentence"].startswith(
        "Cart.discount = 110, by Cart.apply_coupon(110), called by marketing, in campaign ("
    )
    assert found["last"]["location"]["line"] == line_of((carts / "app.py").read_text(), "self.discount = percent")
    writers = [(lane["writer"], lane["caller"], lane["who"], lane["writes"]) for lane in found["lanes"]]
    assert writers == [
        ("Cart.__init__", "", "MainThread", 1),
        ("Cart.apply_coupon", "marketing", "campaign", 1),
        ("Cart.reset", "", "MainThread", 1),
    ]


def test_history_of_a_name_numbers_the_objects(carts):
    found = history(carts, state="discount")
    assert found["objects"] == 2
    assert [(write["object"], write["change"]) for write in found["writes"]] == [
        (1, "= 0"),
        (1, "= 5"),
        (2, "= 0"),
        (2, "= 110"),
        (2, "= -1"),
    ]
    assert marked(found) == []
    assert found["last"]["sentence"].startswith("The newest write: Cart.discount = -1, by Cart.reset")


def test_write_at_a_later_line_of_the_same_call_is_not_what_the_line_read(carts):
    assert marked(history(carts, "self.discount", "before = ")) == ["= 110"]
    assert marked(history(carts, "self.discount", "self.discount = -1")) == ["= -1"]


def test_history_of_a_container_has_the_changes_of_its_content(carts):
    found = history(carts, "self.items", "gross = ")
    assert changes(found) == ["= a dict", "['book'] = 2", "['pen'] = 1"]
    assert marked(found) == ["['pen'] = 1"]


def test_item_that_the_source_does_not_name_marks_no_write(carts):
    found = history(carts, "n", "gross = ")
    assert found["state"] == "Cart.items"
    assert marked(found) == []
    assert (
        "n is not a state itself" in found["notes"][0]
        and "Which item of Cart.items was read is not known." in found["notes"][0]
    )
    assert found["last"]["sentence"].startswith("The newest write: ")


def test_local_variable_leads_to_the_states_behind_it(carts):
    found = history(carts, "before", "return before")
    assert found["state"] == "Cart.discount"
    assert found["notes"] == ["before is not a state itself. Its value depends on Cart.discount."]


def test_parameter_has_the_writes_that_kept_its_value(carts):
    found = history(carts, "percent", "self.discount = percent")
    assert changes(found) == ["= 5", "= 110"]
    assert found["notes"] == ["These are the writes of Cart.apply_coupon that kept the value of percent."]


def test_parameter_has_the_changes_of_the_object_that_the_call_got(carts):
    found = history(carts, "self", "return gross")
    assert [write["state"] for write in found["writes"]] == [
        "Cart.items",
        "Cart.discount",
        "Cart.discount",
        "Cart.discount",
    ]
    assert marked(found) == ["= 110"]


def test_parameter_without_a_recorded_value_has_no_history(carts):
    found = history(carts, "prices", "gross = ")
    assert found["writes"] == [] and found["command"] == ""
    assert found["message"].startswith("No value of prices was recorded: it is a parameter of Cart.total")


def test_history_of_an_event_marks_that_write(carts):
    event = history(carts, state="discount")["writes"][1]["event"]
    found = history(carts, event=event)
    assert found["state"] == "Cart.discount" and changes(found) == ["= 0", "= 5"] and marked(found) == ["= 5"]
    refused = history(carts, event=0)
    assert refused["message"] == "Event 0 is not a write."


def test_unknown_state_suggests_similar_ones(carts):
    assert "did you mean Cart.discount" in history(carts, state="Cart.discoun")["message"]


def test_history_is_bounded_and_counts_the_missing_writes(carts, monkeypatch):
    few = history(carts, state="discount", maxWrites=2)
    assert (changes(few), few["hiddenWrites"], few["laterWrites"]) == (["= 110", "= -1"], 3, 0)
    earlier = history(carts, state="discount", maxWrites=2, skip=2)
    assert (changes(earlier), earlier["hiddenWrites"], earlier["laterWrites"]) == (["= 5", "= 0"], 3, 2)
    beyond = history(carts, state="discount", maxWrites=2, skip=99)
    assert (changes(beyond), beyond["laterWrites"]) == (["= 0"], 4)
    around = history(carts, "self.discount", "return gross", maxWrites=1)
    assert (changes(around), around["laterWrites"]) == (["= 110"], 1)
    monkeypatch.setattr("clew.server.views.states.history.MAX_WRITES", 1)
    assert changes(history(carts, state="discount")) == ["= -1"]


def test_writers_beyond_the_limit_share_one_lane(carts, monkeypatch):
    monkeypatch.setattr("clew.server.views.states.history.MAX_LANES", 2)
    found = history(carts, state="discount")
    assert [(lane["writer"], lane["who"], lane["writes"]) for lane in found["lanes"]] == [
        ("Cart.__init__", "MainThread", 2),
        ("", "3 other writers", 3),
    ]
    assert [write["lane"] for write in found["writes"]] == [0, 1, 0, 1, 1]


def test_edited_line_has_no_history(tmp_path):
    folder = record(tmp_path, CARTS, options=["--writes"])
    (folder / "app.py").write_text((folder / "app.py").read_text().replace("return gross *", "return 2 * gross *"))
    found = history(folder, "self.discount", "return 2 * gross")
    assert found["writes"] == [] and "is not the line that ran" in found["message"]


def test_run_without_writes_says_how_to_record_them(tmp_path):
    folder = record(tmp_path, CARTS, options=["--name", "plain"])
    found = history(folder, "self.discount", "return gross")
    assert found["message"] == "Run plain recorded no writes."
    assert found["command"].startswith("clew run --writes -- ") and found["command"].endswith("app.py")


RACE = "Nothing recorded orders this write and the read, so it is a race unless a caller holds a lock"


@pytest.mark.parametrize(
    "lock", ["with self.lock:", "with lock_of(self):", "self.lock.acquire()\n            if True:"]
)
def test_write_and_read_under_a_lock_are_no_race(tmp_path, lock):
    source = f"""
    import threading, time
    def lock_of(stock):
        return stock.lock
    class Stock:
        def __init__(self):
            self.left, self.lock = 3, threading.Lock()
        def take(self):
            {lock}
                self.left = 2
            if self.lock.locked():
                self.lock.release()
        def check(self):
            {lock}
                left = self.left
            if self.lock.locked():
                self.lock.release()
            return left
    stock = Stock()
    thread = threading.Thread(target=stock.take, name="shopper")
    thread.start()
    while stock.left != 2 or stock.lock.locked():
        time.sleep(0.001)
    stock.check()
    thread.join()
    """
    found = history(record(tmp_path, source, options=["--writes"]), "self.left", "left = self.left")
    assert marked(found) == ["= 2"]
    assert not [write["race"] for write in found["writes"] if write["race"]]


@pytest.mark.parametrize("ordered", [False, True])
def test_write_that_nothing_orders_before_the_read_is_part_of_a_race(tmp_path, ordered):
    source = f"""
    import threading, time
    class Stock:
        def __init__(self):
            self.left = 3
        def take(self):
            self.left = 2
        def check(self):
            return self.left
    stock = Stock()
    thread = threading.Thread(target=stock.take, name="shopper")
    thread.start()
    {"thread.join()" if ordered else "while stock.left != 2: time.sleep(0.001)"}
    stock.check()
    thread.join()
    """
    found = history(record(tmp_path, source, options=["--writes"]), "self.left", "return self.left")
    assert marked(found) == ["= 2"]
    (write,) = [write for write in found["writes"] if write["isMarked"]]
    assert write["race"] == ("" if ordered else f"{RACE}.")


def test_local_variable_leads_to_the_row_of_a_database_that_gave_its_value(tmp_path):
    source = """
    import sqlite3
    db = sqlite3.connect("shop.db", isolation_level=None)
    def make(): db.execute("CREATE TABLE stock (item TEXT, pieces INT)")
    def put(item, pieces): db.execute("INSERT INTO stock (item, pieces) VALUES (?, ?)", (item, pieces))
    def left(item):
        found = db.execute("SELECT pieces FROM stock WHERE item = ?", (item,)).fetchone()
        return found[0]
    make(); put("pot", 9); put("cup", 3); left("pot")
    """
    found = history(record(tmp_path, source, options=["--writes"]), "found", "return found[0]")
    assert found["state"] == "stock"
    assert found["notes"] == ["found is not a state itself. Its value depends on stock."]
    assert [write["isMarked"] for write in found["writes"]] == [True, False]
    assert [write["by"] for write in found["writes"]] == ["put", "put"]


def test_recorded_values_of_a_parameter_are_its_history(tmp_path):
    (tmp_path / "app.esl").write_text("include standard;\nscope app.**;\npayload app:Cart.add value n as n;\n")
    folder = record(tmp_path, textwrap.dedent(CARTS), options=["--spec", "app.esl"])
    found = history(folder, "n", "self.items[sku] = n")
    assert changes(found) == ["= 2", "= 1"]
    assert [write["by"] for write in found["writes"]] == ["Cart.add", "Cart.add"]


def test_cli_and_panel_have_the_same_writes(carts):
    done = clew(carts, "why", "--written", "discount", "--json")
    listed = json.loads(done.stdout)["writes"]
    assert [row["event"] for row in listed] == [write["event"] for write in history(carts, state="discount")["writes"]]
