"""Programs recorded for tests of the relay, and the contents of their finished runs."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import clew
from clew.graph.entities.events import Happening
from clew.graph.entities.source import entities_of
from clew.server.relay.watcher import Events, Newest, Over, Runs

TASKS = """
import asyncio, sys
async def worker(todo, done):
    while (item := await todo.get()) is not None:
        await done.put(item)
async def main(times):
    todo, done = asyncio.Queue(), asyncio.Queue()
    workers = [asyncio.create_task(worker(todo, done), name=f"worker {n}") for n in range(3)]
    for item in range(times):
        await todo.put(item)
        await done.get()
        await asyncio.sleep(0.002)
    for _ in workers:
        await todo.put(None)
    await asyncio.gather(*workers)
asyncio.run(main(int(sys.argv[1])))
"""

PROCESSES = """
import multiprocessing, socket, threading
def child(pipe, port):
    with socket.create_connection(("127.0.0.1", port)) as stream:
        for _ in range(10):
            item = pipe.recv()
            stream.sendall(b"x" * 100)
            stream.recv(100)
            pipe.send(item)
def echo(stream):
    while data := stream.recv(100):
        stream.sendall(data)
def accept(server):
    threads = [threading.Thread(target=echo, args=(server.accept()[0],), name=f"echo {n}") for n in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
if __name__ == "__main__":
    server = socket.create_server(("127.0.0.1", 0))
    accepting = threading.Thread(target=accept, args=(server,), name="accept")
    accepting.start()
    pipes = [multiprocessing.Pipe() for _ in range(2)]
    children = [multiprocessing.Process(target=child, args=(pipe[1], server.getsockname()[1])) for pipe in pipes]
    for one in children: one.start()
    for item in range(10):
        for pipe in pipes: pipe[0].send(item)
        for pipe in pipes: pipe[0].recv()
    for one in (*children, accepting): one.join()
"""

NODES = """
import os, sys, time
class Node:
    def __init__(self, name): self.name = name
    def send(self, other): pass
    def stop(self): pass
def main(times, at_once, pause):
    nodes = [Node(f"{os.getpid()} {number}") for number in range(10)]
    for turn in range(times) if times else iter(lambda: os.path.exists("stop"), True):
        for item in range(at_once):
            nodes[item % 10].send(nodes[(7 * item + 1) % 10])
        time.sleep(pause)
    for node in nodes: node.stop()
main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
"""

NODES_SPEC = """
entity Node is nodes:Node unique by this.name {
    when finish __init__(name) -> position(this);
    when start send(other) -> communication(this, other);
    when start stop() -> deletion(this);
}
"""


def start(folder: Path, text: str, *arguments: object, name: str = "program", spec: str = "") -> subprocess.Popen:
    program = folder / f"{name}.py"
    program.write_text(text)
    words = ["--workspace", str(folder), "--name", name]
    if spec:
        (folder / f"{name}.esl").write_text(spec)
        words += ["--spec", str(folder / f"{name}.esl")]
    command = [sys.executable, "-m", "clew", "run", *words, "--", sys.executable, str(program), *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, env={**os.environ}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen) -> None:
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said.decode()


class Seen:
    """The messages that a viewer received about one run."""

    def __init__(self):
        self.run = None
        self._events = Counter()
        self.batches = []
        self.missed = []
        self.first = 0
        self.over = False
        self.state = None
        self._names = {-1: ""}

    def take(self, news):
        if isinstance(news, Runs) and news.runs:
            self.run = news.runs[0]
        elif isinstance(news, Newest):
            self.first = self.first if self.missed else news.state.moment
            self.missed.append(news.missed)
            self.state = news.state
            self._names |= {entity.number: entity.name for entity in news.state.entities.values()}
        elif isinstance(news, Events):
            self.state = news.state
            self._names |= {entity.number: entity.name for entity in news.batch.entities}
            self.batches.append((news.batch.begin, news.batch.end))
            columns = [news.batch.columns[name].tolist() for name in ("kind", "first", "other", "channel")]
            self._events.update(zip(*columns, strict=True))
        elif isinstance(news, Over):
            self.over = True

    def watch(self, news):
        for one in news:
            self.take(one)
            if self.over:
                break
        return self

    def sent(self):
        """Return the number of sent messages by name."""
        found = Counter()
        for number, one in self.state.standing.items():
            found[self._names[number]] += one.sent
        return +found

    @property
    def events(self):
        """Return the events with the final names: the name of a process depends on later processes."""
        found = Counter()
        for (kind, first, other, channel), count in self._events.items():
            found[kind, self._names[first], self._names[other], self.state.channels.get(channel, "")] += count
        return found


def recorded(folder: Path) -> Counter:
    """Count the entity events of the finished run by kind, names and channel."""
    graph = clew.open(folder).graph
    events, _ = entities_of(graph)
    names = [*events.names, ""]
    columns = (events.kind, events.first, events.other, events.channel)
    return Counter(
        (kind, names[first], names[other], graph.strings[channel])
        for kind, first, other, channel in zip(*(column.tolist() for column in columns), strict=True)
    )


def assert_lost_and_doubled_nothing(seen: Seen, folder: Path) -> None:
    """Assert that a viewer that joined late received each later event exactly once."""
    expected = recorded(folder)
    assert seen.missed == [-1]
    begins = [begin for begin, _ in seen.batches] + [seen.state.moment]
    assert begins == [seen.first] + [end for _, end in seen.batches]
    assert seen.state.moment == expected.total(), (seen.state.moment, expected.total(), expected - seen.events)
    assert seen.events <= expected
    assert seen.events.total() == expected.total() - seen.first
    sent = Counter()
    for (kind, first, _, _), count in expected.items():
        sent[first] += count if kind == Happening.COMMUNICATION else 0
    assert seen.sent() == +sent


def run_folder(workspace: Path) -> Path:
    (folder,) = (workspace / ".clew" / "runs").iterdir()
    return folder
