"""Names of awaited objects as the source says, for the columns that the interpreter gives."""

import linecache

import pytest

from clew.graph.ops.diagnoses.words import awaited_expression
from clew.records.format.facts import Frame

SOURCE = """\
def work(self, jobs):
    with self.lock:
        pass
    with (
        self.lock
    ):
        pass
    with self.a, self.b:
        pass
    with self.lock as held: held.use()
    with open("x"):
        pass
    jobs.get(timeout=3)
    asyncio.wait_for(self.pool.acquire(), 3)
import asyncio, concurrent.futures
import concurrent.futures as futures  # short
async def main(jobs):
    await asyncio.wait_for(jobs, 3)
    concurrent.futures.wait(jobs)
    futures.wait(jobs)
    asyncio_jobs.wait(3)
"""


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "work.py"
    file.write_text(SOURCE)
    yield str(file)
    linecache.checkcache(str(file))


@pytest.mark.parametrize(
    ("line", "column", "end", "expression"),
    [
        (2, 4, -1, "self.lock"),
        (4, 4, -1, "self.lock"),
        (8, 4, -1, ""),
        (10, 4, -1, "self.lock"),
        (11, 4, -1, ""),
        (13, 4, 23, "jobs"),
        (13, -1, -1, ""),
        (13, 4, -1, ""),
        (14, 4, 44, "self.pool"),
        (18, 4, 35, "jobs"),
        (19, 4, 33, ""),
        (20, 4, 22, ""),
        (21, 4, 24, "asyncio_jobs"),
        (99, 4, -1, ""),
    ],
)
def test_awaited_expression_names_the_object_of_a_line(source, line, column, end, expression):
    assert awaited_expression(Frame(source, line, "work", column, end)) == expression
