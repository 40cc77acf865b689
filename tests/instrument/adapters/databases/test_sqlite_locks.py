"""Who has the write lock of an SQLite database, and who waits for it."""

from __future__ import annotations

import pytest

from clew.graph.ops.answer import phrases
from clew.graph.ops.answer.answer import answer
from clew.graph.ops.diagnoses.registry import findings
from clew.graph.ops.facts.blockers import Blockers
from clew.graph.store.store import open_graph
from clew.records.plan.default_plan import FACTS
from tests.support.programs.named_facts import NamedFacts
from tests.support.programs.recording import ADAPTERS

CONNECT = """
import sqlite3, threading, time

def connect(**options): return sqlite3.connect("shop.db", **{"timeout": 0.05, "check_same_thread": False, **options})
def run_as(name, function, *arguments):
    thread = threading.Thread(target=function, args=arguments, name=name)
    thread.start()
    thread.join()
def update(connection):
    try:
        with connection: connection.execute("update items set left = 1")
    except sqlite3.OperationalError as error: print(error)
first, second = connect(), connect()
first.execute("create table items (sku text unique, left int)")
first.commit()
"""


@pytest.fixture
def recorded(record):
    def run(source):
        done = record(CONNECT + source, adapters=(*ADAPTERS, "sqlite_locks", *FACTS))
        assert done.code == 0, done.stderr
        found = NamedFacts(open_graph(done.folder)[0])
        waits = [(found.name(wait.strand), wait.end) for wait in found.of("sqlite.lock")]
        held = [
            (found.name(each.strand), each.until_ns is not None)
            for each in found.holdings
            if found.graph.channel(each.rows[0]) == "sqlite.lock"
        ]
        return found, waits, held, done.stdout

    return run


def test_sqlite_statement_that_waits_names_the_database_and_the_connection_that_holds_it(recorded):
    found, waits, held, told = recorded(
        """
run_as("holder", first.execute, "/* now */ insert into items values ('a', 3)")
run_as("late", update, second)
run_as("holder-2", first.commit)
run_as("good", update, second)
"""
    )
    assert told == "database is locked\n"
    assert (waits, held) == ([("late", "timeout")], [("holder", True), ("good", True)])
    (wait,) = found.of("sqlite.lock")
    assert (wait.begin.text.name, wait.begin.text.limit, wait.begin.text.capacity) == ("shop.db", 0.05, 1)
    assert 40e6 < wait.wake.ns - wait.begin.ns < 5e9
    (holding,) = [each for each, _basis in Blockers.of(found).holders(wait, wait.wake.ns - 1)]
    told = phrases.waited_for_slot(found, wait, holding)
    assert (
        "for the write lock of shop.db (update, program.py:11), until its time limit; holder had held it since +"
        in told
    )


@pytest.mark.parametrize(
    "end",
    [
        "first.commit()", "first.rollback()", "first.close()", "first.execute('commit')", "first.executescript('')",
        "first.__exit__(None, None, None)",
    ],
)  # fmt: skip
def test_sqlite_lock_is_given_back_at_each_end_of_a_transaction(recorded, end):
    _, waits, held, told = recorded(
        f"""
first.cursor().executemany("insert into items values (?, 1)", [("a",), ("b",)])
{end}
run_as("next", update, second)
"""
    )
    assert (waits, held, told) == ([], [("MainThread", True), ("next", True)], "")


def test_sqlite_connection_that_is_dropped_holds_nothing_once_another_one_writes(recorded):
    _, waits, held, told = recorded(
        """
first.execute("update items set left = 2")
import gc
del first
gc.collect()
run_as("next", update, second)
run_as("last", update, second)
"""
    )
    assert told == ""
    assert waits in ([("next", "satisfied")], []) and held == [("MainThread", True), ("next", True), ("last", True)]


@pytest.mark.parametrize(
    "statement",
    [
        "select 1", "begin", "explain update items set left = 1", "create table if not exists items (sku text)",
        "-- update items\nselect 1",
    ],
)  # fmt: skip
def test_sqlite_statement_that_does_not_write_takes_no_lock(recorded, statement):
    _, waits, held, _ = recorded(f"first.isolation_level = None\nfirst.execute({statement!r})\n")
    assert (waits, held) == ([], [])


@pytest.mark.parametrize(
    "setup",
    [
        'first.execute("create temp table items (left int)")', 'first.execute("attach ? as other", ("other.db",))',
        'first.executescript("create temporary table items (left int)")',
    ],
)  # fmt: skip
def test_sqlite_connection_that_can_write_elsewhere_is_left_out(recorded, setup):
    _, waits, held, _ = recorded(f'{setup}\nfirst.execute("update items set left = 2")\nrun_as("next", update, second)')
    assert "MainThread" not in [name for name, _ in held] and waits == []


def test_sqlite_databases_in_memory_and_failed_statements_hold_nothing(recorded):
    _, waits, held, _ = recorded(
        """
memory = sqlite3.connect(":memory:")
memory.execute("create table items (left int)")
shared = sqlite3.connect("file:shared?mode=memory&cache=shared", uri=True)
shared.execute("create table items (left int)")
try: first.execute("insert into nowhere values (1)")
except sqlite3.OperationalError: pass
first.execute("insert into items values ('a', 1)")
first.commit()
try: first.execute("insert into items values ('a', 1)")
except sqlite3.IntegrityError: pass
"""
    )
    assert (waits, held) == ([], [("MainThread", True)])


def test_sqlite_functions_look_like_the_originals_and_run_no_code_of_the_program(recorded):
    _, _, held, told = recorded(
        """
class Text(str):
    def __len__(self): raise AssertionError
class Place:
    def __fspath__(self): calls.append(1); return "shop.db"
class Mine(sqlite3.Connection):
    @property
    def in_transaction(self): raise AssertionError
    @property
    def autocommit(self): raise AssertionError
class Cursor(sqlite3.Cursor):
    @property
    def connection(self): raise AssertionError
class Holder: connector = sqlite3.connect
calls = []
sqlite3.connect(Place()).execute("select 1")
mine = connect(factory=Mine)
mine.cursor(Cursor).execute("update items set left = 1")
mine.rollback()
mine.execute(Text("update items set left = 1"))
mine.close()
Holder().connector("shop.db").close()
try: first.execute()
except TypeError as error: print(len(calls), error)
print(sqlite3.connect.__name__, type(sqlite3.connect).__name__, sqlite3.Cursor.execute.__name__)
"""
    )
    assert held == [("MainThread", True)]
    assert told == ("1 execute expected at least 1 argument, got 0\nconnect builtin_function_or_method execute\n")


def test_sqlite_lock_that_a_library_thread_takes_belongs_to_the_task_that_asked(recorded):
    found, waits, held, told = recorded(
        """
import asyncio, queue

class Connection:
    "As in aiosqlite: a thread for each connection, which the default plan does not record."
    def __init__(self):
        self.inner, self.calls = connect(timeout=0.2), queue.SimpleQueue()
        threading.Thread(target=space["serve"], args=(self.calls, asyncio.get_running_loop())).start()
    def ask(self, function, *arguments):
        answer = asyncio.get_running_loop().create_future()
        self.calls.put((answer, function, arguments))
        return answer

space = {}
exec(compile('''
def serve(calls, loop):
    while (call := calls.get()) is not None:
        answer, function, arguments = call
        try: result, done = function(*arguments), answer.set_result
        except Exception as error: result, done = error, answer.set_exception
        loop.call_soon_threadsafe(done, result)
''', "/lib/serve.py", "exec"), space)

async def hold(connection):
    await connection.ask(connection.inner.execute, "update items set left = 2")
    await asyncio.sleep(0.6)
    await connection.ask(connection.inner.commit)

async def fail(connection):
    await asyncio.sleep(0.1)
    try: await connection.ask(connection.inner.execute, "update items set left = 3")
    except sqlite3.OperationalError as error:
        await connection.ask(time.sleep, 0.01)
        print(error)

async def main():
    holder, late = Connection(), Connection()
    await asyncio.gather(
        asyncio.create_task(hold(holder), name="holder"), asyncio.create_task(fail(late), name="late")
    )
    for connection in (holder, late): connection.calls.put(None)

asyncio.run(main())
"""
    )
    assert told == "database is locked\n"
    assert (waits, held) == ([("late", "timeout")], [("holder", True)])
    (finding,) = [each for each in findings(found) if each.kind == "held-by-waiter"]
    assert answer(found.graph, found.outputs[0], lambda _edge, _event: "").finding is finding
    assert "late waited" in finding.text and "holder held it" in finding.text and "slept" in finding.text
