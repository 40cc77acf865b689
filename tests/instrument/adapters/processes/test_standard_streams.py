"""Standard streams of child programs: edges exist only if no other process can have used the pipe."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from clew.graph.build.builder import build
from clew.records.format.event import EdgeKind

ALL = ("threads", "executors", "queues", "tasks", "processes", "http", "sockets")

ECHO = """
    import sys

    def hear(): return sys.stdin.readline()
    def answer(line): print(line.upper(), end="", flush=True)

    while line := hear():
        answer(line)
    """
SAY = """
    import ctypes, os, sys

    def say(): os.write(1, b"hello\\n")
    def do(): exec(sys.argv[1])

    do()
    say()
    """


def name_of(graph, event):
    call = graph.enclosing_call(event)
    if call < 0:
        return "-"
    return graph.sites[int(graph.site[call])].qualname.rpartition(".")[2]


@pytest.fixture
def edges(record):
    """Count (source, target) of the edges of raw bytes, by innermost recorded functions; "-" is outside of any function."""

    def run(source, child=ECHO):
        run = record(source, adapters=ALL, files={"child.py": child})
        assert run.code == 0, run.stderr
        graph, _ = build(run.folder)
        found = Counter()
        columns = graph.edge_src, graph.edge_dst, graph.edge_kind, graph.edge_channel
        for start, end, kind, channel in zip(*columns, strict=True):
            if graph.strings[channel] in ("socket", "pipe"):
                assert kind == EdgeKind.USE
                found[name_of(graph, int(start)), name_of(graph, int(end))] += 1
        return found

    return run


def between(**pairs):
    return Counter({tuple(pair.split("__")): count for pair, count in pairs.items()})


@pytest.mark.parametrize("how", ["", ", close_fds=False", ", env={'LANG': 'C'}", ", bufsize=1"])
@pytest.mark.parametrize("flag", ["-B", "-u"])
def test_child_stdin_and_stdout_lines_have_edges_in_both_directions(edges, flag, how):
    found = edges(
        f"""
        import subprocess, sys

        def tell(line): print(line, file=child.stdin, flush=True)
        def listen(line): assert child.stdout.readline() == line + "\\n"

        with subprocess.Popen([sys.executable, "{flag}", "child.py"], stdin=-1, stdout=-1, text=True{how}) as child:
            for line in ("one", "two", "three"):
                tell(line)
                listen(line.upper())
            child.stdin.close()
        assert child.returncode == 0
        """
    )
    assert found == between(tell__hear=3, answer__listen=3)


def test_child_output_flushed_at_exit_has_edges_to_its_parent(edges):
    found = edges(
        """
        import subprocess, sys

        def ask():
            done = subprocess.run([sys.executable, "child.py"], input=b"question", stdout=-1, stderr=subprocess.STDOUT)
            assert done.stdout == b"early\\nquestion\\n", done.stdout

        ask()
        """,
        """
        import sys

        def early(): print("early", file=sys.stderr)
        def hear(): return sys.stdin.read()
        def late(text): print(text)

        early()
        late(hear())
        """,
    )
    # The interpreter writes the last line at exit, outside of all functions.
    assert sum(found.values()) == 3 and found == Counter({("early", "ask"): 1, ("-", "ask"): 1, ("ask", "hear"): 1})


def test_asyncio_child_streams_have_edges_in_both_directions(edges):
    found = edges(
        """
        import asyncio, sys
        PIPE = asyncio.subprocess.PIPE

        async def tell(child, line): child.stdin.write(line)

        async def main():
            child = await asyncio.create_subprocess_exec(sys.executable, "child.py", stdin=PIPE, stdout=PIPE)
            for line in (b"one\\n", b"two\\n"):
                await tell(child, line)
                assert await child.stdout.readline() == line.upper()
            child.stdin.close()
            await child.wait()

        asyncio.run(main())
        """
    )
    # The loop reads in a handle.
    assert found == between(**{"tell__hear": 2, "answer__-": 2})


def test_pipeline_output_leads_from_child_to_child(edges):
    found = edges(
        """
        import subprocess, sys

        first = subprocess.Popen([sys.executable, "child.py"], stdin=-1, stdout=-1)
        second = subprocess.Popen([sys.executable, "child.py"], stdin=first.stdout, stdout=-1)
        first.stdout.close()
        def tell(): first.stdin.write(b"text\\n"); first.stdin.close()
        def listen(): assert second.stdout.read() == b"TEXT\\n"
        tell(); listen()
        assert first.wait() == second.wait() == 0
        """
    )
    assert found == between(tell__hear=1, answer__hear=1, answer__listen=1)


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("{python} child.py pass", "hello\\n", 1),
        ("{python} child.py pass; true", "hello\\n", 1),
        ("echo hello; {python} child.py pass", "hello\\nhello\\n", 0),
        ("{python} child.py pass; {python} child.py pass", "hello\\nhello\\n", 0),
        ("{python} child.py pass | tr a-z A-Z", "HELLO\\n", 0),
    ],
)
def test_shell_child_output_has_edges_if_it_is_the_only_output(edges, command, output, expected):
    found = edges(
        f"""
        import os, sys

        def listen():
            with os.popen("{command}".format(python=sys.executable)) as pipe: assert pipe.read() == "{output}"

        listen()
        """,
        SAY,
    )
    assert found == between(**{"say__listen": expected} if expected else {})


STARTED = "subprocess.run([sys.executable, 'child.py', 'pass'], {}, check=True)"
C_WRITES = 'libc = ctypes.CDLL(None); libc.write(1, b"abcdef", 6)'
C_PRINTS = 'libc = ctypes.CDLL(None); libc.puts(b"abcde"); libc.fflush(None)'


@pytest.mark.parametrize(
    "does",
    [
        C_WRITES,
        pytest.param(
            C_PRINTS, marks=pytest.mark.skipif(sys.platform != "linux", reason="other C libraries do not report it")
        ),
        'os.write(os.open("/dev/stdout", os.O_WRONLY), b"abcdef")',
        'open("/dev/fd/1", "w").write("abcdef")',
        'os.system("echo abcde")',
        'os.execv(sys.executable, [sys.executable, "-S", "-c", "print(12345, 12345)"])',
    ],
)
def test_child_output_written_past_python_has_no_edges(edges, does):
    found = edges(
        f"""
        import subprocess, sys

        def listen(): assert len(child.stdout.read(12)) == 12

        with subprocess.Popen([sys.executable, "child.py", {does!r}], stdout=-1) as child: listen()
        """,
        SAY,
    )
    assert found == Counter()


@pytest.mark.parametrize(
    "starts",
    [
        "mine(); os.close(writes); " + STARTED.format("stdout=copy"),
        STARTED.format("stdout=writes") + "; mine()",
        STARTED.format("stdout=writes") + "; " + STARTED.format("stdout=writes"),
        STARTED.format("stdout=writes") + "; subprocess.run(['echo', 'hello'], stdout=writes)",
        "subprocess.run(['echo', 'hello'], stdout=writes); " + STARTED.format("stdout=writes"),
        STARTED.format("stdout=writes, preexec_fn=mine"),
        "subprocess.run([sys.executable, '-S', 'child.py', 'say()'], stdout=writes)",
    ],
)
def test_pipe_end_shared_by_others_has_no_further_edges(edges, starts):
    found = edges(
        f"""
        import os, subprocess, sys

        def mine(): os.write(writes, b"hello\\n")
        def listen():
            text = b""
            while len(text) < 12: text += os.read(reads, 1)
            assert text == b"hello\\nhello\\n"

        reads, writes = os.pipe()
        copy = os.dup(writes)
        {starts}
        listen()
        """,
        SAY,
    )
    # Bytes written before the copy have edges, and so do the child's bytes if the child was the only writer then.
    first = {"mine__listen": 6, "say__listen": 6} if starts.startswith("mine()") else {}
    assert found == between(**first)


def test_program_read_from_stdin_receives_no_bytes(edges):
    found = edges(
        """
        import subprocess, sys

        def tell(): return subprocess.run([sys.executable], input=b"import sys; print(sys.stdin.read())\\n", stdout=-1)
        assert tell().stdout == b"\\n"
        """
    )
    assert found == between(**{"-__tell": 1})


def test_child_with_closed_stdout_reader_fails_as_untraced(record):
    source = """
        import subprocess, sys

        for count in (0, 1, 4000, 4096, 8000, 8191, 8193, 20000):
            print = f"import sys; sys.stdin.read(); print('x' * 10, end=''); print('x' * {count})"
            child = subprocess.Popen([sys.executable, "-c", print], stdin=-1, stdout=-1, stderr=-1)
            child.stdout.close()
            child.stdin.close()
            sys.stdout.write(f"{count} {child.wait()} {child.stderr.read()}\\n")
        """
    plain, recorded = (record(source, adapters=adapters, name=f"hears{len(adapters)}") for adapters in ((), ALL))
    assert plain.code == recorded.code == 0, recorded.stderr
    assert plain.stdout == recorded.stdout and plain.stdout.count("BrokenPipeError") >= 8
