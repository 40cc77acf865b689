"""Raw bytes of sockets and pipes: a read depends on the writes of its bytes, and has no edge if they are uncertain."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.graph.build.builder import build
from clew.records.format.event import EdgeKind, Kind

ALL = ("threads", "executors", "queues", "tasks", "processes", "http", "sockets")


def name_of(graph, event):
    call = graph.enclosing_call(event)
    if call < 0:
        return graph.strands[graph.strand[event]].name
    return graph.sites[int(graph.site[call])].qualname.rpartition(".")[2]


def edges(run, *channels):
    """Count (channel, source, target) of the edges of raw bytes, by innermost recorded functions."""
    graph, _ = build(run.folder)
    found = Counter()
    columns = graph.edge_src, graph.edge_dst, graph.edge_kind, graph.edge_channel
    for source, target, kind, channel in zip(*columns, strict=True):
        if graph.strings[channel] in (channels or ("socket", "pipe")):
            assert kind == EdgeKind.USE
            found[graph.strings[channel], name_of(graph, int(source)), name_of(graph, int(target))] += 1
    return found


def between(channel, **pairs):
    return Counter({(channel, *pair.split("__")): count for pair, count in pairs.items()})


@pytest.fixture
def recorded(record):
    def run(source, *arguments, **options):
        run = record(source, *arguments, adapters=ALL, **options)
        assert run.code == 0, run.stderr
        return run

    return run


CONNECTED = {
    "tcp": "listener = socket.create_server(('127.0.0.1', 0))",
    "tcp6": "listener = socket.create_server(('::', 0), family=socket.AF_INET6, dualstack_ipv6=True)",
    "unix": "listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); listener.listen()",
}


@pytest.mark.parametrize("kind", CONNECTED)
def test_socket_reads_depend_on_writes_of_the_other_process(recorded, tmp_path, kind):
    run = recorded(
        f"""
        import os, socket, sys

        {CONNECTED[kind]}

        def connect():
            address = listener.getsockname()
            return socket.create_connection(("127.0.0.1", address[1])) if listener.family != socket.AF_UNIX else unix(address)

        def unix(address):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(address)
            return connection

        def child():
            connection = connect()
            def one(): connection.sendall(b"a" * 10)
            def two(): connection.sendmsg(iter([b"b" * 4, memoryview(b"b" * 6)]))
            def three(): connection.send(b"c" * 10, socket.MSG_DONTWAIT)
            one(); two(); three()
            def answered():
                with connection.makefile("rb") as file: assert file.readline() == b"thanks\\n"
            answered()
            connection.close()

        def parent():
            connection, _ = listener.accept()
            def first():
                connection.recv(5, socket.MSG_PEEK)
                assert len(connection.recv(5, socket.MSG_WAITALL)) == 5
            def second():
                buffer = bytearray(10)
                assert connection.recv_into(buffer, 10, flags=socket.MSG_WAITALL) == 10
            def rest(): assert connection.recvmsg(15, 0, socket.MSG_WAITALL)[0] == b"b" * 5 + b"c" * 10
            first(); second(); rest()
            def thank(): connection.sendall(b"thanks\\n")
            thank()
            def end(): assert connection.recv(1) == b""
            end()

        pid = os.fork()
        if not pid:
            child()
            os._exit(0)
        parent()
        os.waitpid(pid, 0)
        """,
        str(tmp_path / "socket"),
    )
    sent = between("socket", one__first=1, one__second=1, two__second=1, two__rest=1, three__rest=1)
    assert edges(run) == sent + between("socket", thank__answered=1)


def test_socket_pair_and_pipe_have_edges_across_fork(recorded):
    run = recorded(
        """
        import os, socket

        here, there = socket.socketpair()
        reads, writes = os.pipe()
        def before(): here.sendall(b"12345"); os.write(writes, b"abc")
        before()
        pid = os.fork()
        if not pid:
            def child():
                assert there.recv(3) == b"123" and os.read(reads, 2) == b"ab"
            child()
            def answer(): there.sendall(b"!")
            answer()
            os._exit(0)
        os.waitpid(pid, 0)
        def after(): assert here.recv(10) == b"!"
        after()
        """
    )
    assert edges(run) == between("socket", before__child=1, answer__after=1) + between("pipe", before__child=1)


def test_socket_end_used_by_two_processes_has_no_further_edges(recorded):
    run = recorded(
        """
        import os, socket

        here, there = socket.socketpair()
        def before(): here.sendall(b"12345")
        before()
        def first(): assert there.recv(5) == b"12345"
        first()
        pid = os.fork()
        def both(): here.sendall(b"6")
        both()
        if not pid: os._exit(0)
        os.waitpid(pid, 0)
        def rest(): assert there.recv(1) == b"6" and there.recv(1) == b"6"
        rest()
        """
    )
    assert edges(run) == between("socket", before__first=1)


def test_pipe_shared_with_unrecorded_program_has_no_further_edges(recorded):
    run = recorded(
        """
        import os, subprocess, sys

        reads, writes = os.pipe()
        def sure(): os.write(writes, b"12345")
        sure()
        def first(): assert os.read(reads, 5) == b"12345"
        first()
        subprocess.run([sys.executable, "-S", "-c", "import os; os.write(1, b'x' * 5)"], stdout=writes, check=True)
        def unsure(): os.write(writes, b"67890")
        unsure()
        def second(): assert os.read(reads, 5) == b"xxxxx"
        second()
        """
    )
    assert edges(run) == between("pipe", sure__first=1)


def test_descriptors_copied_reused_or_sent_are_distinguished(recorded):
    run = recorded(
        """
        import os, socket, sys

        here, there = socket.socketpair()
        copy = there.dup()
        def one(): here.sendall(b"12")
        one()
        def copied(): assert copy.recv(1) == b"1" and there.recv(1) == b"2"
        copied()
        numbers = {here.fileno(), there.fileno(), copy.fileno()}
        there.close(); copy.close(); here.close()
        reads, writes = os.pipe()
        assert {reads, writes} < numbers
        number = max(numbers)
        os.dup2(reads, number); os.close(reads)
        def two(): os.write(writes, b"34")
        two()
        def again(): assert os.read(number, 2) == b"34"
        again()
        here, there = socket.socketpair()
        left, right = socket.socketpair()
        socket.send_fds(left, [b"x"], [here.fileno()])
        def three(): here.sendall(b"56")
        three()
        def unsure(): assert there.recv(2) == b"56"
        unsure()
        """
    )
    assert edges(run) == between("socket", one__copied=2) + between("pipe", two__again=1)


def test_socket_read_by_two_threads_has_no_edges_and_is_noted(recorded):
    run = recorded(
        """
        import socket, threading

        here, there = socket.socketpair()
        def before(): here.sendall(b"1")
        before()
        def first(): there.recv(1)
        first()
        # Each thread waits for one byte of the other end's last two writes.
        threads = [threading.Thread(target=lambda: there.recv(1)) for _ in range(2)]
        for thread in threads: thread.start()
        inside = threading.Event()
        while not all(_waits(thread) for thread in threads): pass
        def after(): here.sendall(b"2"); here.sendall(b"3")
        after()
        for thread in threads: thread.join()
        """.replace(
            "        here, there",
            """        import sys
        def _waits(thread):
            frame = sys._current_frames().get(thread.ident)
            return frame is not None and frame.f_code.co_name == "<lambda>"
        here, there""",
            1,
        )
    )
    assert edges(run) == between("socket", before__first=1)
    assert sum("several threads used one end" in note.text for process in run.processes for note in process.notes) <= 1


def test_file_over_pipe_has_edges_and_datagrams_have_none(recorded):
    run = recorded(
        """
        import os, socket

        reads, writes = os.pipe()
        with open(writes, "w") as file, open(reads) as other:
            def write(): print("a line", file=file, flush=True)
            write()
            def read(): assert other.readline() == "a line\\n"
            read()
        with open("plain", "wb") as file: file.write(b"x")
        with open("plain", "rb") as file: assert file.read() == b"x"
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        here.send(b"datagram"); there.recv(100)
        one, other = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)
        one.bind(("127.0.0.1", 0)); other.connect(one.getsockname()); other.send(b"datagram"); one.recvfrom(100)
        """
    )
    assert edges(run) == between("pipe", write__read=1)


def test_asyncio_stream_bytes_lead_from_writing_to_reading_task(recorded):
    run = recorded(
        """
        import asyncio

        async def serve(reader, writer):
            while data := await reader.readline():
                await asyncio.sleep(0)
                writer.write(data.upper())
            writer.close()

        async def client(name, address):
            reader, writer = await asyncio.open_connection(*address)
            for _ in range(3):
                writer.write(name + b"\\n")
                assert await reader.readline() == name.upper() + b"\\n"
            writer.close()
            await writer.wait_closed()

        async def main():
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            await asyncio.gather(*(client(name, server.sockets[0].getsockname()) for name in (b"a", b"b")))
            server.close()

        asyncio.run(main())
        """
    )
    graph, _ = build(run.folder)
    came = Counter()
    for source, target, channel in zip(graph.edge_src, graph.edge_dst, graph.edge_channel, strict=True):
        if graph.strings[channel] == "socket":
            came[name_of(graph, int(source))] += 1
    assert came == {"serve": 6, "client": 6}


def test_socket_bytes_of_http_request_or_connection_have_no_second_edge(recorded):
    run = recorded(
        """
        import http.server, multiprocessing, threading, urllib.request

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(4)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")
            def log_message(self, *_): pass

        def ask():
            with urllib.request.urlopen(address, b"body") as response: assert response.read() == b"ok"

        def echo(pipe): pipe.send(pipe.recv())

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        ask()
        thread.join()
        here, there = multiprocessing.get_context("fork").Pipe()
        process = multiprocessing.get_context("fork").Process(target=echo, args=(there,))
        process.start(); here.send(1); assert here.recv() == 1; process.join()
        """
    )
    # The request has an edge of its header, the answer an edge of its bytes.
    assert {(source, target) for _, source, target in edges(run)} == {("do_POST", "ask")}
    assert len(edges(run, "traceparent")) == 1 and len(edges(run, "multiprocessing.pipe")) == 2


def test_socket_and_pipe_calls_return_and_fail_as_untraced(record):
    source = """
        import inspect, io, os, socket
        from clew.instrument.recorder.core import core

        here, there = socket.socketpair()
        here.setblocking(False)
        for call in (
            lambda: here.send(), lambda: here.send("text"), lambda: here.sendall(b"x", b"y"), lambda: here.recv(-1),
            lambda: here.recv(1), lambda: here.recv_into(b"x"), lambda: here.sendmsg(1), lambda: here.sendmsg([1]),
            lambda: here.recv_into(bytearray(1), flags="x"), lambda: here.sendto(b"x"), lambda: os.read(-1, 1),
            lambda: os.read("x", 1), lambda: os.write(1), lambda: os.close(-1), lambda: os.close(), lambda: os.pipe(1),
            lambda: os.dup2(-1, -1), lambda: os.closerange(1), lambda: here.connect(1), lambda: socket.socketpair(99),
            lambda: io.FileIO("nowhere"), lambda: io.FileIO(there.fileno(), closefd=False).write(1), lambda: here.close(1),
        ):
            try: print("gave", call())
            except Exception as error: print(type(error).__name__, error)
        print(here.sendmsg([b"a", b"b"], iter([])), there.recv(9), socket.socket.send, os.read, os.read.__doc__[:20])
        print(inspect.signature(os.read), os.read.__module__, os.close.__qualname__, repr(socket.socket.recv))
        here.close()
        try: here.send(b"x")
        except OSError as error: print(error)
        """
    outputs = [record(source, adapters=adapters, name=f"fails{len(adapters)}") for adapters in ((), ALL)]
    assert [run.code for run in outputs] == [0, 0], outputs[1].stderr
    assert outputs[0].stdout == outputs[1].stdout


def test_sockets_adapter_without_a_socket_is_noted_and_records_no_edges(recorded):
    run = recorded(
        """
        import os, sys
        refused = []

        def refuse(event, arguments):
            if event == "socket.__new__" and not refused:
                refused.append(event)
                raise OSError("no sockets today")

        sys.addaudithook(refuse)
        import socket

        def tell(end):
            os.write(end.fileno(), b"one")
            end.sendall(b"two")

        def hear(end):
            return os.read(end.fileno(), 100)

        near, far = socket.socketpair()
        tell(near)
        print(refused, hear(far))
        """,
        unhooked=("_socket: causality is not recorded (OSError: no sockets today)",),
    )
    assert run.stdout == "['socket.__new__'] b'onetwo'\n"
    assert edges(run) == Counter()


def test_socket_ends_are_recorded_where_they_are_closed_and_seen(recorded):
    run = recorded(
        """
        import socket

        one, two = socket.socketpair()
        def send(): one.sendall(b"abc")
        def shut(): one.shutdown(socket.SHUT_WR)
        def read(): assert two.recv(9) == b"abc"
        def peek(): assert two.recv(9, socket.MSG_PEEK) == b""
        def read_nothing(): assert two.recv(0) == b""
        def see(): assert two.recv(9) == b"" and two.recv_into(bytearray(3)) == 0
        def close(): one.close(); two.close()
        send(); read(); shut(); read_nothing(); peek(); see(); close()

        kept, copy = socket.socketpair()
        again = copy.dup()
        def close_one_of_two(): copy.close()
        def close_last(): again.close()
        close_one_of_two(); kept.sendall(b"x"); close_last()
        """
    )
    graph, _ = build(run.folder)
    ends = [
        (name_of(graph, row), Kind(graph.at("kind", row)).name, graph.text(row))
        for row in range(len(graph))
        if graph.at("ext", row) >= 0 and graph.channel(row) == "socket" and graph.text(row).endswith("$")
    ]
    assert ends == [
        ("shut", "SEND", "3$"),
        ("see", "JOIN", "3$"),
        ("close", "SEND", "0$"),
        ("close_last", "SEND", "0$"),
    ]
