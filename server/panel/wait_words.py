"""What a wait was for, in a word and in a sentence.

Invariant: a word for every edge; what no rule of its own names is called by its channel.
"""

from __future__ import annotations

from clew.graph.model import ExecutionGraph
from clew.server import wording

_WORDS = {
    "lock": "lock",
    "condition": "condition",
    "semaphore": "semaphore",
    "event": "event",
    "asyncio.event": "event",
    "barrier": "barrier",
    "asyncio.barrier": "barrier",
    "queue": "queue",
    "queue.done": "queue",
    "asyncio.queue": "queue",
    "multiprocessing.queue": "queue",
    "thread.start": "start of a thread",
    "thread.join": "join of a thread",
    "executor.submit": "a free worker",
    "executor.result": "result of a worker",
    "executor.callback": "callback",
    "asyncio.handle": "turn in the event loop",
    "asyncio.future": "result of a task",
    "process.start": "start of a child process",
    "process.end": "end of a child process",
    "pipe": "pipe",
    "multiprocessing.pipe": "pipe",
    "multiprocessing.pool": "result of a worker",
    "multiprocessing.manager": "another process",
    "socket": "network",
    "asyncio.stream": "network",
    "traceparent": "network",
    "signal": "signal",
    "sched": "timer",
}
PAUSE = "sleep or pause"


def waited_for(graph: ExecutionGraph, edge: int) -> str:
    """In a word; of -1, no edge, the word for nothing that was recorded."""
    if edge < 0:
        return PAUSE
    channel = graph.strings[int(graph.edge_channel[edge])]
    if channel in _WORDS:
        return _WORDS[channel]
    return "another process" if _crosses(graph, edge) else channel or "another thread or task"


def wait_sentence(graph: ExecutionGraph, edge: int) -> str:
    """Who ended it, and through what; "" without an edge."""
    if edge < 0:
        return ""
    source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
    by, strand = graph.owner_of(source), graph.strand_of(source)
    who = wording.short_label(graph.sites[int(graph.site[by])].label) if by >= 0 else f"{strand.kind} {strand.name}"
    where = f" in {graph.process_of(source).name}" if _crosses(graph, edge) else ""
    site = graph.sites[int(graph.site[target])]
    through = f", through {wording.short_label(site.label)}" if site.kind == "adapter" and site.qualname else ""
    return f"ended by {who}{where}{through}"


def _crosses(graph: ExecutionGraph, edge: int) -> bool:
    process = graph.strand_process
    ends = graph.strand[graph.edge_src[edge]], graph.strand[graph.edge_dst[edge]]
    return bool(process[ends[0]] != process[ends[1]])
