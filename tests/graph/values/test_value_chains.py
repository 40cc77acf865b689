"""How values came about: what each kind of statement of Python passes on, as sentences about real programs."""

import pytest

from clew.graph.values.criteria import NoSuchValue, of_expression
from tests.support.programs.second_look import Looked

FOLLOWED = """
import asyncio, codecs, collections, contextlib, functools, heapq, io, threading
from dataclasses import dataclass, field
from email.message import Message


def comprehension(rates):
    doubled = [rate * 2 for rate in rates if rate > 1]
    return sum(doubled)  # comprehension


def generated(limit):
    def squares():
        for number in range(limit):
            yield number * number
    total = 0
    for square in squares():
        total += square
    return total  # generator


async def fetched(price):
    await asyncio.sleep(0)
    return price * 3


async def awaited():
    bill = await fetched(14)
    return bill  # coroutine


class Basket:
    __slots__ = ("price",)

    def __init__(self, price):
        self.price = price


def slots():
    basket = Basket(17)
    paid = basket.price + 1
    return paid  # slots


class Account:
    def __init__(self):
        self._balance = 0

    @property
    def balance(self):
        return self._balance * 10

    @balance.setter
    def balance(self, amount):
        self._balance = amount + 1


def properties():
    account = Account()
    account.balance = 4
    shown = account.balance
    return shown  # property


class Upper:
    def __get__(self, owner, kind):
        return owner.raw.upper()


class Named:
    name = Upper()


def descriptors():
    named = Named()
    named.raw = "ann"
    got = named.name
    return got  # descriptor


def by_setattr():
    account = Account()
    setattr(account, "limit", 250)
    limit = account.limit
    return limit  # setattr


def by_dict_item():
    account = Account()
    account.__dict__["limit"] = 30
    limit = account.limit
    return limit  # __dict__ item


def by_dict_update():
    account = Account()
    account.limit = 1
    vars(account).update(limit=7)
    limit = account.limit
    return limit  # __dict__ update


def by_dict_read():
    account = Account()
    account.limit = 11
    limit = vars(account).get("limit") + account.__dict__["limit"]
    return limit  # __dict__ read


def sorted_by_key():
    def cost(pair):
        return pair[1]
    cheapest = sorted([("pen", 3), ("ink", 2)], key=cost)[0]
    return cheapest  # key


def reduced():
    total = functools.reduce(lambda left, right: left + right, [20, 22])
    return total  # reduce


@contextlib.contextmanager
def opened(name):
    yield name + "-open"


def managed():
    with opened("file") as handle:
        got = handle
    return got  # manager


def threaded():
    results = {}

    def work(key, number):
        results[key] = number - 7
    worker = threading.Thread(target=work, args=("left", 50), name="worker")
    worker.start()
    worker.join()
    left = results["left"]
    return left  # thread


def closed_over():
    count = 5

    def bump():
        nonlocal count
        count = count + 100
    bump()
    seen = count
    return seen  # closure


def unpacked():
    first, *rest = [31, 32, 33]
    second = rest[0]
    return second  # unpack


@dataclass
class Order:
    price: int
    count: int = 2


def dataclasses():
    order = Order(21)
    cost = order.price * order.count
    return cost  # dataclass


def starred(*numbers, **named):
    picked = numbers[1] + named["extra"]
    return picked  # starred


def missing_key(country):
    rate = {"de": 19}.get(country)
    return rate  # missing


def branches(age):
    if age < 18:
        price = 5
    else:
        price = 9
    return price  # branch


def heap():
    jobs = []
    heapq.heappush(jobs, (3, "late"))
    heapq.heappush(jobs, (1, "soon"))
    rank, job = heapq.heappop(jobs)
    return job  # heap


def bought():
    price = 4
    return price + 4


def bill(price):
    return doubled(price)


def doubled(amount):
    twice = amount * 2
    return twice  # passed


async def pages(limit):
    for page in range(limit):
        await asyncio.sleep(0)
        yield page


async def paged():
    total = 0
    async for page in pages(3):
        total += page
    return total  # asynchronous generator


async def gathered():
    both = await asyncio.gather(fetched(1), fetched(2))
    return both  # gathered


def first_tag():
    return "new"


@dataclass
class User:
    age: int
    tag: str = field(default_factory=first_tag)


def generated_init():
    years = 17
    user = User(years)
    older = user.age + 1
    return older  # generated __init__


def opaque_item():
    receiver = "ada"
    letter = Message()
    letter["To"] = receiver
    text = letter.as_string()
    return text  # opaque item


def opaque_method():
    raw = io.BytesIO(b"abc")
    stream = codecs.StreamReaderWriter(raw, codecs.getreader("utf-8"), codecs.getwriter("utf-8"))
    text = stream.read()  # a bound method, since the class has __getattr__
    return text  # opaque method


def appended():
    found = []
    for number in (3, 4):
        found.append(number)
    whole = list(found)
    return whole  # appended


bill(bought())
appended()
asyncio.run(paged())
asyncio.run(gathered())
generated_init()
opaque_item()
opaque_method()
comprehension([1, 2, 3])
generated(4)
asyncio.run(awaited())
slots()
properties()
descriptors()
by_setattr()
by_dict_item()
by_dict_update()
by_dict_read()
sorted_by_key()
reduced()
managed()
threaded()
closed_over()
unpacked()
dataclasses()
starred(1, 20, extra=300)
missing_key("DE")
branches(12)
heap()
"""
"""Each line that is asked about returns a variable, and its comment names the case."""

TOLD = {
    "comprehension": ("doubled", ["[4, 6]", "because rate is"]),
    "generator": ("total", ["total is 14", "generated.squares() returned 9", "number is 3"]),
    "coroutine": ("bill", ["bill is 42", "fetched(14) returned 42", "price is 14"]),
    "asynchronous generator": ("total", ["total is 3", "pages(3) returned 2, from page", "page is 2"]),
    "gathered": ("both", ["both is [3, 6], because asyncio.gather(fetched(1), fetched(2)) is"]),
    "generated __init__": ("older", ["older is 18, because user.age is 17", "because years is 17"]),
    "opaque item": ("text", ['letter["To"] was set to \'ada\' by opaque_item()']),
    "opaque method": ("text", ["text is 'abc', because stream is", "raw is"]),
    "appended": ("whole", ["whole is [3, 4], because found is [3, 4]", "found.append(number) put 4 in, in appended()"]),
    "slots": ("paid", ["paid is 18", "self.price was set to 17 by Basket.__init__(17), called by slots"]),
    "property": ("shown", ["Account.balance() returned 50", "self._balance was set to 5 by Account.balance(4), called by p"]),
    "descriptor": ("got", ["returned 'ANN'", "named.raw was set to 'ann' by descriptors()"]),
    "setattr": ("limit", ["setattr(account, \"limit\", 250) was set to 250"]),
    "__dict__ item": ("limit", ["limit is 30", 'account.__dict__["limit"] was set to 30 by by_dict_item(']),
    "__dict__ update": ("limit", ["limit is 7", "account.limit: vars(account).update(limit=7) changed it, in by_dict_update("]),
    "__dict__ read": ("limit", ["limit is 22", "account.limit was set to 11 by by_dict_read("]),
    "key": ("cheapest", ["cheapest is ('ink', 2)"]),
    "reduce": ("total", ["the lambda in reduced returned 42", "left is 20 and right is 22"]),
    "manager": ("got", ["got is 'file-open'", "opened('file') returned 'file-open'"]),
    "thread": ("left", ["results[key] was set to 43 by threaded.work('left', 50) in thread worker, because number is 50"]),
    "closure": ("seen", ["seen is 105", "count is 105, because count is 5", "count is 5"]),
    "unpack": ("second", ["second is 32"]),
    "dataclass": ("cost", ["cost is 42, because order.price is 21 and order.count is 2"]),
    "starred": ("picked", ["picked is 320, because numbers[1] is 20 and named[\"extra\"] is 300"]),
    "passed": ("twice", ["twice is 16, because amount is 8", "passed by bill (", "): bought() returned 8, because price is 4"]),
    "missing": ("rate", ["rate is None, because country is 'DE'"]),
    "branch": ("price", ["price is 5", "age < 18 was True, because age is 12"]),
    "heap": ("job", ["job is 'soon'", "heapq.heappush(jobs, (1, \"soon\"))"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    return Looked(tmp_path_factory.mktemp("values"), FOLLOWED)


@pytest.mark.parametrize("case", TOLD)
def test_chain_tells_how_a_value_came_about(followed, case):
    name, told = TOLD[case]
    sentences = followed.why(name, case)
    text = "\n".join(sentences)
    assert [part for part in told if part not in text] == [], text


def test_unknown_expression_is_refused_with_the_values_of_the_line(followed):
    with pytest.raises(NoSuchValue, match=r"has no value 'nonsense'"):
        followed.why("nonsense", "slots")


def test_line_that_did_not_run_is_named(followed):
    flow, statements = followed.flow()
    with pytest.raises(NoSuchValue, match=r"app.py:1 did not run in the second look"):
        of_expression(flow, statements, "x", str(followed.file), 1)


@pytest.mark.parametrize("case", ["coroutine", "asynchronous generator", "gathered"])
def test_end_of_an_await_or_asynchronous_loop_is_not_told_as_an_exception(followed, case):
    assert not [one for one in followed.why(TOLD[case][0], case, most=40) if "Stop" in one]


def test_text_of_a_method_that_changed_a_container_is_not_told_as_a_value(followed):
    assert not [one for one in followed.why("whole", "appended") if "append(number) is" in one]


def test_call_with_several_literal_arguments_is_told_once(tmp_path):
    looked = Looked(tmp_path, "def add(a, b):\n    return a - b\n\n\ntotal = add(2, 1)\ndone = total  # here\n")
    assert [one for one in looked.why("total") if "called add(2, 1)" in one] == [
        "module __main__ called add(2, 1) (line 1)"
    ]


def test_parameter_that_is_none_or_not_is_told_as_a_value(tmp_path):
    source = """
        def rate(country):
            if country is None:
                return 0
            percent = 19
            return percent

        paid = rate("de")
        done = paid  # here
        """
    told = Looked(tmp_path, source).why("paid")
    assert [one for one in told if "country was 'de'" in one], told


def test_attribute_that_a_library_converted_is_told_with_the_stored_value(tmp_path):
    source = """
        class Percent:
            exec("def __set__(self, owner, value): owner.raw = float(value)")
            exec("def __get__(self, owner, kind): return owner.raw")


        class Bill:
            rate = Percent()


        def ask():
            bill = Bill()
            bill.rate = "19"
            seen = bill.rate
            return seen  # here


        ask()
        """
    told = Looked(tmp_path, source).why("seen")
    assert any(
        "bill.rate was set to '19' by ask()" in one and "code that was not followed made it 19.0" in one for one in told
    ), told
