"""Answers about real programs that waited in vain for an answer over a connection, or for a task."""

from tests.support.programs.recorded_program import why

STORE = """
VALUES = {"a": "1"}

async def handle(reader, writer):
    try:
        while line := await reader.readline():
            command, *values = line.decode().split()
            if command == "get":
                writer.write(f"{VALUES[values[0]]}\\n".encode())
            elif command == "set":
                VALUES[values[0]] = values[1]
                if MENDED:
                    writer.write(b"ok\\n")
            await writer.drain()
    except KeyError:
        log.warning("no such key")
    finally:
        writer.close()

async def ask(port, *commands):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for command in commands:
            writer.write(command.encode() + b"\\n")
            reply = await asyncio.wait_for(reader.readline(), 0.5)
            if not reply:
                return log.error("no answer to %s", command)
        if MENDED:
            await asyncio.wait_for(asyncio.Event().wait(), 0.1)
    except asyncio.TimeoutError:
        log.error("too late: %s", command)
    finally:
        writer.close()

async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(ask(port, "get a"), ask(port, "get a", "set b 2"), ask(port, "get c"))
    server.close()

asyncio.run(main())
"""


def test_time_limit_of_a_read_names_the_reader_of_what_was_written_and_what_it_waits_for(program):
    verdict, sure = why(program(STORE), "too late")
    assert "had sent bytes to handle" in verdict
    assert "which had not answered yet: it had waited" in verdict
    assert "data from a stream (handle, app.py:11)" in verdict
    assert sure.startswith("How sure: recorded")


def test_time_limit_after_an_answer_does_not_name_its_sender(program):
    verdict, _ = why(program(STORE, "mended"), "too late: set")
    assert "had sent bytes" not in verdict


def test_closed_connection_names_the_exception_that_the_closer_handled(program):
    verdict, sure = why(program(STORE), "no answer to get c")
    assert "saw the end of a connection: handle" in verdict
    assert "had just handled KeyError: 'c', raised in handle, app.py:14" in verdict
    assert sure.startswith("How sure: recorded")


BLOCKED_SERVER = """
lock = threading.Lock()

def serve(connection):
    with connection:
        for line in connection.makefile("rb"):
            with lock:
                connection.sendall(b"ok\\n")

def accept(server):
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=(connection,), name="server", daemon=True).start()

def query(port):
    with socket.create_connection(("127.0.0.1", port), timeout=0.5) as connection:
        connection.sendall(b"sum\\n")
        try:
            connection.recv(100)
        except OSError:
            log.error("query failed")

server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept, args=(server,), daemon=True).start()
with lock:
    query(server.getsockname()[1])
"""


def test_time_limit_of_a_socket_names_the_wait_of_the_thread_that_read_what_was_sent(program):
    verdict, _ = why(program(BLOCKED_SERVER), "query failed")
    assert "MainThread had sent bytes to server of app" in verdict
    assert "for lock (serve, app.py:12)" in verdict


AWAITED = """
async def take(basket):
    return await basket.get()

async def main():
    basket = asyncio.Queue()
    try:
        await asyncio.wait_for(take(basket), 0.2)
    except asyncio.TimeoutError:
        log.error("nothing was taken")

asyncio.run(main())
"""


def test_time_limit_of_a_task_names_what_the_task_waited_for(program):
    verdict, _ = why(program(AWAITED), "nothing was taken")
    assert "main (Task-1) waited" in verdict
    assert "for basket (take, app.py:8)" in verdict
