"""Answers about real programs in which a cancellation, or a peer that left, is behind an exception or a clean-up."""

import pytest

from tests.support.programs.recorded_program import clew, found_in, why

MEMORY_STREAM = """
import anyio

async def produce(out):
    async with out:
        for number in range(4):
            await out.send(number)
            await anyio.sleep(0.02)

async def consume(source):
    try:
        for _ in range(4):
            await source.receive()
        log.info("all there")
    except anyio.EndOfStream:
        log.exception("the list is incomplete")

async def main():
    out, source = anyio.create_memory_object_stream()
    async with anyio.create_task_group() as outer:
        outer.start_soon(consume, source, name="reader")
        async with anyio.create_task_group() as inner:
            inner.start_soon(produce, out, name="writer")
            await anyio.sleep(0.03)
            if not MENDED:
                inner.cancel_scope.cancel()

anyio.run(main)
"""


def test_why_of_end_of_memory_stream_names_the_cancelled_writer_and_who_cancelled_it(program):
    pytest.importorskip("anyio")
    verdict, sure = why(program(MEMORY_STREAM), "incomplete")
    assert "reader saw the end of a stream that writer closed" in verdict
    assert "main cancelled the cancel scope of writer" in verdict and "(main, app.py:" in verdict
    assert sure.startswith("How sure: recorded")


def test_why_of_memory_stream_whose_writer_ends_well_claims_nothing(program):
    pytest.importorskip("anyio")
    folder = program(MEMORY_STREAM, "mended")
    assert found_in(folder) == []
    assert "cancel" not in why(folder, "all there")[0]


STREAM = """
handlers = []

async def quote(reader, writer):
    try:
        await reader.readline()
        writer.write(b"12345")
        handlers.append(asyncio.current_task())
        await asyncio.sleep(0.1)
        writer.write(b"67890")
    finally:
        writer.close()

async def clear():
    while not handlers:
        await asyncio.sleep(0.01)
    if not MENDED:
        handlers[0].cancel()

async def main():
    server = await asyncio.start_server(quote, "127.0.0.1", 0)
    janitor = asyncio.create_task(clear(), name="janitor")
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"quotes\\n")
    try:
        await reader.readexactly(20 if MENDED else 10)
    except asyncio.IncompleteReadError:
        log.exception("quotes are incomplete")
    await janitor
    server.close()

asyncio.run(main())
"""


def test_why_of_incomplete_read_names_the_cancelled_handler_at_the_other_end(program):
    verdict, sure = why(program(STREAM), "incomplete")
    assert "main (Task-1) saw the end of a connection: quote (Task-" in verdict
    assert "janitor cancelled quote (Task-" in verdict
    assert sure.startswith("How sure: recorded")


def test_why_of_incomplete_read_from_a_handler_that_ended_well_names_no_cancellation(program):
    verdict, _ = why(program(STREAM, "mended"), "incomplete")
    assert "saw the end of a connection: quote (Task-" in verdict
    assert "cancel" not in verdict


WATCHER = """
async def render():
    try:
        async with asyncio.timeout(0.2 if MENDED else 9):
            await asyncio.sleep(20)
    except (asyncio.CancelledError, TimeoutError):
        log.error("the page was given up")
        raise

async def serve(reader, writer):
    await reader.readline()
    work = asyncio.create_task(render(), name="render")
    async def watch():
        await reader.read(1)
        if not MENDED:
            work.cancel()
    watcher = asyncio.create_task(watch(), name="watcher")
    await asyncio.wait([work])
    work.exception() if not work.cancelled() else None
    watcher.cancel()
    writer.close()
    served.set()

def visit(address):
    with socket.create_connection(address) as one:
        one.sendall(b"page\\n")
        time.sleep(0.05)

async def main():
    global served
    served = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    threading.Thread(target=visit, args=(server.sockets[0].getsockname(),), name="browser").start()
    await served.wait()
    server.close()

asyncio.run(main())
"""


def test_why_of_cancelled_work_names_the_peer_that_left(program):
    verdict, sure = why(program(WATCHER), "given up")
    assert "watcher cancelled render" in verdict
    assert "Before that, browser closed the connection at the other end" in verdict and "(visit, app.py:" in verdict
    assert sure.startswith("How sure: recorded")


def test_why_of_work_that_a_time_limit_ended_does_not_name_the_peer_that_left(program):
    verdict, _ = why(program(WATCHER, "mended"), "given up")
    assert "closed the connection" not in verdict


HANDLING = """
async def work():
    try:
        await asyncio.sleep(9)
    except asyncio.CancelledError:
        log.error("work was given up")

def parse(text):
    return int(text)

async def boss(working):
    await asyncio.sleep(0.02)
    try:
        parse("x")
    except ValueError:
        if not MENDED:
            working.cancel()
    if MENDED:
        working.cancel()

async def main():
    working = asyncio.create_task(work(), name="working")
    await asyncio.create_task(boss(working), name="boss")
    await asyncio.wait([working])

asyncio.run(main())
"""


def test_why_of_cancelled_work_names_the_exception_that_the_canceller_handled(program):
    verdict, sure = why(program(HANDLING), "given up")
    assert "boss cancelled working" in verdict
    assert "boss did so while handling ValueError: " in verdict and "raised in parse, app.py:" in verdict
    assert sure.startswith("How sure: recorded")


def test_why_of_work_that_was_cancelled_after_an_exception_does_not_name_it(program):
    verdict, _ = why(program(HANDLING, "mended"), "given up")
    assert "boss cancelled working" in verdict and "ValueError" not in verdict


LAST_ITEM = """
async def fetch(rows):
    try:
        for number in range(4):
            await asyncio.sleep(0.02)
            await rows.put(number)
    finally:
        rows.put_nowait(None)

async def add(rows):
    total = 0
    for _ in range(5 if MENDED else 4):
        try:
            total += await rows.get()
        except TypeError:
            log.exception("a row is no number")

async def boss(fetching):
    await asyncio.sleep(0.03)
    try:
        parse("x")
    except ValueError:
        pass
    if not MENDED:
        fetching.cancel()

def parse(text):
    return int(text)

async def main():
    rows = asyncio.Queue()
    fetching = asyncio.create_task(fetch(rows), name="fetching")
    adding = asyncio.create_task(add(rows), name="adding")
    await asyncio.create_task(boss(fetching), name="boss")
    await asyncio.wait([adding], timeout=1)

asyncio.run(main())
"""


def test_why_of_item_from_a_cancelled_task_names_who_cancelled_it_and_no_unrelated_exception(program):
    verdict, _ = why(program(LAST_ITEM), "no number")
    assert "took an item that app.fetch put into a queue" in verdict
    assert "boss cancelled fetching" in verdict
    assert "ValueError" not in verdict


def test_why_of_item_from_a_task_that_ended_well_names_no_cancellation(program):
    verdict, _ = why(program(LAST_ITEM, "mended"), "no number")
    assert "cancel" not in verdict


CLEAN_UP = """
import anyio

async def chat(address):
    reader, writer = await asyncio.open_connection(*address)
    kept.append(writer)
    try:
        writer.write(b"hello\\n")
        await reader.readline()
        greeted.set()
        await anyio.sleep(5)
    finally:
        with anyio.CancelScope(shield=MENDED):
            await disconnect(reader, writer)

async def disconnect(reader, writer):
    writer.write(b"bye\\n")
    await reader.readline()
    writer.close()
    kept.clear()

kept = []

async def main():
    global greeted
    greeted = anyio.Event()
    async def echo(reader, writer):
        while await reader.readline():
            await asyncio.sleep(0.01)
            writer.write(b"bye\\n")
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with anyio.create_task_group() as group:
        group.start_soon(chat, server.sockets[0].getsockname(), name="chat")
        await greeted.wait()
        group.cancel_scope.cancel()
    await anyio.sleep(0.1)
    log.error("%d lines are open", len(kept))
    server.close()

anyio.run(main)
"""


def test_why_of_open_connection_names_the_close_that_a_scope_interrupted(program):
    pytest.importorskip("anyio")
    verdict, sure = why(program(CLEAN_UP), "lines are open")
    assert "main cancelled the cancel scope of chat" in verdict
    assert "disconnect did not finish, and chat left its connection open" in verdict
    assert sure.startswith("How sure: inferred from")


def test_why_of_shielded_close_claims_no_interruption(program):
    pytest.importorskip("anyio")
    folder = program(CLEAN_UP, "mended")
    assert found_in(folder) == []
    assert "did not finish" not in why(folder, "lines are open")[0]


INTERRUPTED = """
import anyio

async def export(number):
    try:
        await anyio.sleep(5 if number == 2 else 0.01)
    finally:
        await flush(number)

async def flush(number):
    await anyio.sleep(0.01)
    log.info("export %d is flushed", number)

async def main():
    for number in range(4):
        async with anyio.create_task_group() as group:
            group.start_soon(export, number, name=f"export-{number}")
            await anyio.sleep(0.3)
            group.cancel_scope.cancel()

anyio.run(main)
"""


def test_why_not_of_a_line_in_an_interrupted_clean_up_names_who_cancelled_the_scope(program):
    pytest.importorskip("anyio")
    folder = program(INTERRUPTED)
    done = clew(folder, "why", "--not", "export 2 is flushed")
    assert "until it was cancelled: main cancelled the cancel scope of export-2" in done.stdout


def test_why_of_an_exception_tells_the_end_behind_it_without_repeating_it(program):
    pytest.importorskip("anyio")
    source = MEMORY_STREAM.replace('log.exception("the list is incomplete")', 'raise ValueError("the list is short")')
    source = source.replace("anyio.run(main)", "try: anyio.run(main)\nexcept BaseException: pass")
    verdict, _ = why(program(source), "the list is short")
    assert verdict.startswith("It was raised in consume, app.py:")
    assert "reader saw the end of a stream that writer closed" in verdict
