"""A run with any damage in its trace files opens; damage is a problem, never an error."""

from __future__ import annotations

import random
import shutil

import pytest

from clew.graph.ops.causes.why import why
from clew.query.api import open_run
from clew.records.format.event import Kind
from clew.records.run.directory import STORE_FOLDER

CORRUPTIONS = 200


@pytest.fixture
def folder(run):
    """Return a run with records of all kinds in two processes."""
    server, client = run.process("server"), run.process("client")
    first, second, third = server.thread(), server.thread("worker é"), client.thread()
    server.counters = {"counted": 12}
    for number in range(8):
        third.enter("ask").send(number).exit("ask")
        first.step(f"task {number % 3}").enter("answer").receive(number).log(
            f"answer {number}", function="answer", line=7
        )
        first.define(number).send(number, "queue").exit("answer").stop(f"task {number % 3}")
        second.begin(number, "queue").enter("work").use(number).unwind("work").end()
    third.request("write").enter("slow").suspend("slow").join(7, "queue").resume("slow").exit("slow")
    return run.write()


def damaged(whole: bytes, chance: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(chance.choice([1, 1, 1, 3, 20])):
        page = chance.choice([0, *range(4096, len(data), 65536)])
        at = page + chance.randrange(chance.choice([300, 3000]))
        match chance.randrange(5):
            case 0 | 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                data[at] = chance.choice([0, 1, 64, 128, 255])
            case 3:
                data[at : at + 8] = chance.choice([bytes(8), b"\xff" * 8, chance.randbytes(8)])
            case 4:
                data[at : at + 16] = data[page : page + 16]
    if not chance.randrange(20):
        del data[chance.randrange(len(data)) :]
    return bytes(data)


def test_open_run_with_any_damaged_bytes_succeeds(folder):
    chance = random.Random(1)
    files = {path: path.read_bytes() for path in sorted(folder.glob("*.clew"))}
    for _ in range(CORRUPTIONS):
        path = chance.choice(list(files))
        path.write_bytes(damaged(files[path], chance))
        built = open_run(folder)
        stored = open_run(folder)
        assert len(built.graph) == len(stored.graph)
        assert (folder / STORE_FOLDER).exists(), built.problems
        for event in range(0, len(built.graph), 7):
            why(built.graph, event)
        path.write_bytes(files[path])
        shutil.rmtree(folder / STORE_FOLDER)


@pytest.mark.parametrize("kind", [Kind.SITE, Kind.STRING, Kind.THREAD])
def test_build_definition_with_invalid_number_is_reported_as_damage(run, kind):
    process = run.process()
    process.thread().enter("f").log("text")
    text = next(text for known, _, text in process.definitions if known == kind)
    process.definitions.append((kind, 1 << 40 | 7, text))
    opened = open_run(run.write())
    assert [problem.what for problem in opened.problems] == [f"a definition of kind {kind} cannot be understood"]
    assert len(opened.graph) == 2


@pytest.mark.parametrize("field", ["line", "end_line", "rule"])
@pytest.mark.parametrize("value", [1 << 32, 1 << 70, -2])
def test_build_site_with_invalid_line_is_reported_as_damage(run, field, value):
    process = run.process()
    process.thread().enter("f")
    kind, number, text = process.definitions[-1]
    start = text.index(f'"{field}": ')
    process.definitions[-1] = kind, number, f'{text[:start]}"{field}": {value}, "more": {{"x{text[start + 1 :]}}}'
    opened = open_run(run.write())
    assert [problem.what for problem in opened.problems] == ["a definition of kind 64 cannot be understood"]


def test_build_lone_surrogates_in_definitions_are_replaced(run):
    process = run.process("\ud800")
    process.thread("\udfff").enter("f")
    graph = open_run(run.write()).graph
    assert [strand.name for strand in graph.strands] == ["?"]
    assert graph.processes[0].name == "?"
    assert (run.folder / STORE_FOLDER).exists()


def test_build_counter_beyond_63_bits_is_reported_as_damage(run):
    process = run.process()
    process.thread().enter("f")
    process.counters = {"f": (1 << 63) + 5}
    opened = open_run(run.write())
    assert [problem.what for problem in opened.problems] == ["a counter of calls is damaged"]
    assert dict(opened.graph.counted) == {}
