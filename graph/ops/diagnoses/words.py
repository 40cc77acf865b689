"""Names and places in the sentences of diagnoses: the code's own names, never our numbers."""

from __future__ import annotations

import ast
import linecache
import os
import re
from functools import lru_cache

from clew.graph.model.graph import Site
from clew.graph.ops.facts.columns.waits import DECLARED
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Fact, Facts, Holding, Waiting
from clew.graph.ops.facts.helper_tasks import AUTOMATIC_NAME
from clew.graph.render.library import library_place as library_file
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame

_PRIMITIVES = {
    "lock": "a lock", "rlock": "a reentrant lock", "condition": "a condition", "semaphore": "a semaphore",
    "event": "an event", "barrier": "a barrier", "queue": "a queue", "thread.join": "the end of a thread",
    "process.end": "the end of a process",
    "executor.result": "a result", "asyncio.lock": "a lock", "asyncio.condition": "a condition",
    "asyncio.semaphore": "a semaphore", "asyncio.event": "an event", "asyncio.queue": "a queue",
    "asyncio.barrier": "a barrier", "asyncio.future": "a future", "asyncio.task": "the end of a task",
    "asyncio.sleep": "time", "anyio.limiter": "a capacity limiter",
    "asyncio.stream": "data from a stream", "asyncio.taskgroup": "the end of its tasks",
    "sqlite.lock": "the write lock of a database",
    "multiprocessing.lock": "a lock", "multiprocessing.rlock": "a reentrant lock", "multiprocessing.condition": "a condition",
    "multiprocessing.semaphore": "a semaphore", "multiprocessing.event": "an event", "multiprocessing.barrier": "a barrier",
    "multiprocessing.queue": "a queue", "multiprocessing.pipe": "a message",
}  # fmt: skip
SQLITE = "sqlite.lock"
"""The channel of a database, which has the name of its file."""
_LONGEST_HEAD = 5
"""The most lines of the head of a `with` statement."""
_WRAPPERS = frozenset({"asyncio.wait_for", "wait_for", "asyncio.shield", "shield"})
_WAITING_METHODS = frozenset({
    "acquire", "wait", "wait_for", "get", "put", "join", "result", "exception", "__enter__", "__aenter__",
})  # fmt: skip


def who(facts: Facts, strand: int) -> str:
    """Return the name of a thread or task, for the main thread of a process that another one started that of the process.

    A task without a name of its own is named by its first recorded function, else by the task or thread that waits for it.
    """
    if strand < 0:
        return "a thread that was not recorded"
    found = facts.graph.strands[strand]
    if is_process(facts, strand):
        process = facts.graph.processes[found.process]
        return f"process {process.name} ({process.pid})"
    if found.kind == "task" and AUTOMATIC_NAME.fullmatch(found.name):
        function = first_function(facts, found.start, found.stop)
        waiter = facts.waiter_for(strand) if not function else None
        if waiter is not None:
            parent = facts.graph.strands[waiter.strand]
            automatic = AUTOMATIC_NAME.fullmatch(parent.name)
            function = first_function(facts, parent.start, parent.stop) if automatic else parent.name
        return f"{function} ({found.name})" if function else found.name
    # anyio names a task after its function, with all the functions around it.
    return found.name.rpartition(".<locals>.")[2].removeprefix("__main__.") or f"a {found.kind} without a name"


def is_process(facts: Facts, strand: int) -> bool:
    """Return whether a strand is the main thread of a process that another one started."""
    found = facts.graph.strands[strand]
    return found.process > 0 and found.kind == "thread" and found.name == "MainThread"


def first_function(facts: Facts, start: int, stop: int) -> str:
    """Return the name of the first function that rows enter, such as `view`; "" if the first few rows enter none."""
    graph = facts.graph
    for row in range(start, min(stop, start + 16)):
        if graph.at("kind", row) == Kind.ENTER:
            return graph.sites[graph.at("site", row)].qualname.rpartition(".<locals>.")[2]
    return ""


def where(at: tuple[Frame, ...], facts: Facts) -> str:
    """Return `transfer, bank.py:10` for the innermost line of the program in a stack, "" for an empty stack."""
    frame = own_frame(at, facts)
    return f"{frame.function.rpartition('.<locals>.')[2]}, {base_name(frame.file)}:{frame.line}" if frame else ""


def base_name(file: str) -> str:
    return os.path.basename(file) or file


def site_place(site: Site) -> str:
    """Return `transfer, bank.py:7` for a code location."""
    return f"{site.qualname.rpartition('.<locals>.')[2]}, {base_name(site.file)}:{site.line}"


def own_frame(at: tuple[Frame, ...], facts: Facts) -> Frame | None:
    """Return the innermost frame of recorded code, else the innermost frame."""
    files = recorded_files(facts)
    return next((frame for frame in at if frame.file in files), at[0] if at else None)


def recorded_files(facts: Facts) -> frozenset[str]:
    """Return the files with functions that the run recorded."""
    known = facts.graph.answers.get("recorded files")
    if known is None:
        kinds = {"", "adapter", "builtin", "log", "line"}
        known = frozenset(site.file for site in facts.graph.sites if site.kind not in kinds)
        known |= frozenset(site.file for site in facts.graph.sites if site.kind in {"log", "line"} and site.rule >= 0)
        facts.graph.answers["recorded files"] = known
    files: frozenset[str] = known
    return files


def kind_of(channel: str) -> str:
    """Return `a lock` for the channel `lock`."""
    return _PRIMITIVES.get(channel, channel.removeprefix(DECLARED) or "something")


def thing(wait: Waiting, facts: Facts) -> str:
    """Return what a wait is for: `dst.lock` as the code says, the object's own name, or "a lock"."""
    frame = own_frame(frames(facts, wait), facts)
    if frame is not None and frame.file not in recorded_files(facts) and library_file(frame.file):
        frame = None  # the names that a library uses inside mean nothing to its user
    expression = awaited_expression(frame) if frame and not wait.begin.channel.startswith(DECLARED) else ""
    name = wait.begin.text.name
    if name and wait.begin.channel == SQLITE:
        return f"the write lock of {name}"
    return expression or name or kind_of(wait.begin.channel)


def frames(facts: Facts, wait: Waiting) -> tuple[Frame, ...]:
    """Return the stack of a wait, innermost first; that of its waiter for a task that runs no code of the program."""
    at = wait.begin.text.at
    if not any(frame.file in recorded_files(facts) for frame in at):
        waiter = facts.waiter_for(wait.strand)
        if waiter is not None and any(frame.file in recorded_files(facts) for frame in waiter.begin.text.at):
            return waiter.begin.text.at
    return at


@lru_cache(maxsize=4096)
def awaited_expression(frame: Frame) -> str:
    """Return the expression of the object that a line waits for, such as `dst.lock` in `with dst.lock:`; "" if unclear."""
    line = linecache.getline(frame.file, frame.line)
    if not line.strip():
        return ""
    if 0 <= frame.column < frame.end_column:
        part = line.encode()[frame.column : frame.end_column].decode("utf-8", "replace")
        # The columns of an `async with` statement on one line are those of all of it.
        return _entered_object(frame) if part.startswith(("with ", "async with ")) else _object_of(part, frame.file)
    # The columns of a `with` statement that enters its object end in another line.
    return _entered_object(frame) if frame.column >= 0 else ""


def _entered_object(frame: Frame) -> str:
    """Return the object of a `with` statement with a single item, as its source says; else ""."""
    lines = [linecache.getline(frame.file, frame.line + number) for number in range(_LONGEST_HEAD)]
    for end in range(1, len(lines) + 1):
        head = "".join(lines[:end]).strip()
        if not head.startswith(("with ", "with(", "async with ", "async with(")):
            return ""
        try:
            (node,) = ast.parse(
                f"async def _():\n {head.rstrip()} pass" if head.endswith(":") else f"async def _():\n {head}"
            ).body
        except (SyntaxError, ValueError):
            continue
        statement = node.body[0] if isinstance(node, ast.AsyncFunctionDef) else None
        if isinstance(statement, (ast.With, ast.AsyncWith)) and len(statement.items) == 1:
            return _object_of(ast.unparse(statement.items[0].context_expr), frame.file)
        return ""
    return ""


def _object_of(text: str, file: str) -> str:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    while isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Call) and ast.unparse(node.func) in _WRAPPERS and node.args:
        return _object_of(ast.unparse(node.args[0]), file)
    if isinstance(node, ast.Call):
        function = node.func
        if not isinstance(function, ast.Attribute) or function.attr not in _WAITING_METHODS:
            return ""
        node = function.value
        if _is_module(file, ast.unparse(node)):
            return ""  # `asyncio.wait_for(…)` is a function of the module, not a method of the object.
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _is_module(file: str, name: str) -> bool:
    """Return whether a file imports a module under a name: `import asyncio`, `import concurrent.futures as futures`."""
    importing = re.compile(rf"\s*import\s(?:.*[\s,])?{re.escape(name)}\s*(?:,.*)?(?:#.*)?")
    return any(importing.fullmatch(line.rstrip("\n")) for line in linecache.getlines(file))


def waited(facts: Facts, wait: Waiting) -> str:
    """Return `pay-rent waited 2.0 s for dst.lock (transfer, bank.py:10)`."""
    return f"{who(facts, wait.strand)} {waited_for(facts, wait, Ends.of(facts).lasted_ns(wait))}"


def waited_for(facts: Facts, wait: Waiting, ns: int, object_: str = "") -> str:
    """Return `waited 2.0 s for dst.lock (transfer, bank.py:10)`, or `slept 2.0 s (…)` for a wait for time alone."""
    if wait.begin.channel == "asyncio.sleep" and not object_:
        return f"slept {seconds(ns)}{place(wait, facts)}"
    return f"waited {seconds(ns)} for {object_ or thing(wait, facts)}{place(wait, facts)}"


def place(wait: Waiting, facts: Facts) -> str:
    """Return ` (transfer, bank.py:10)` for the line of a wait, "" when it was not recorded."""
    found = _declared_place(facts, wait.begin.row) or where(frames(facts, wait), facts)
    return f" ({found})" if found else ""


def taken_at(facts: Facts, holding: Holding) -> str:
    """Return the line where a holder took what it holds, "" when it was not recorded."""
    return _declared_place(facts, holding.rows[0]) or where(holding.at, facts)


def _declared_place(facts: Facts, row: int) -> str:
    """Return the program's line of a record about a declared resource: the pool's own functions are recorded, too."""
    if not facts.graph.channel(row).startswith(DECLARED):
        return ""
    site = facts.graph.sites[facts.graph.at("site", row)]
    return "" if not site.file or library_file(site.file) else site_place(site)


def ending(facts: Facts, wait: Waiting) -> str:
    """Return how a wait ended, as the end of a sentence: `until its time limit passed`."""
    if wait.wake is None:
        return "to the end of the recording" if Ends.of(facts).is_open(wait) else "until an end that was not recorded"
    ends = {
        "satisfied": "until it got it",
        "timeout": "until its time limit passed",
        "cancelled": "until it was cancelled",
        "failed": "until an error ended the wait",
    }
    return ends.get(wait.end, "until it ended")


def held(facts: Facts, holding: Holding, wait: Waiting) -> str:
    """Return `refund held it from +0.13 s on (transfer, bank.py:8)`, as far as that was recorded."""
    since = f" from {offset(holding.since_ns)} on" if _since_is_known(holding, wait) else ""
    taken = taken_at(facts, holding)
    return f"{who(facts, holding.strand)} held it{since}{f' ({taken})' if taken else ''}"


def _since_is_known(holding: Holding, wait: Waiting) -> bool:
    """A holder named by a wait without a time is known from the beginning of the wait only."""
    return holding.since_ns < wait.begin.ns


def names(facts: Facts, strands: list[int], most: int = 4) -> str:
    """Return `w1, w2 and w3`; beyond `most` names, `w1, w2 and 8 others`."""
    found = [who(facts, strand) for strand in dict.fromkeys(strands)]
    if len(found) > most:
        found = [*found[: most - 1], f"{len(found) - most + 1} others"]
    return f"{', '.join(found[:-1])} and {found[-1]}" if len(found) > 1 else "".join(found)


def exception(fact: Fact[Exception_]) -> str:
    """Return `KeyError: 'sku-7'`, with the first line of the message, without its full stop."""
    name = fact.channel.removeprefix("builtins.") or "an exception"
    message = fact.text.message.strip().partition("\n")[0].rstrip()
    if message.endswith(".") and not message.endswith(".."):
        message = message[:-1]
    return f"{name}: {message}" if message else name


def library_place(at: tuple[Frame, ...], facts: Facts) -> str:
    """Return the innermost frame and, if that is in code that was not recorded, the line of the program that led to it."""
    if not at:
        return ""
    inner, own = at[0], own_frame(at, facts)
    text = f"{inner.function.rpartition('.<locals>.')[2]}, {base_name(inner.file)}:{inner.line}"
    return text if own is None or own == inner else f"{text}, called in {where(at, facts)}"


def seconds(ns: int) -> str:
    """Return a duration in words that fit a sentence: `2.0 s`, `130 ms`, `40 µs`."""
    if ns >= 995_000_000:
        return f"{ns / 1e9:.2g} s" if ns < 9_950_000_000 else f"{ns / 1e9:.0f} s"
    if ns >= 995_000:
        return f"{ns / 1e6:.0f} ms"
    return f"{max(ns, 0) / 1e3:.0f} µs"


def offset(ns: int) -> str:
    """Return a time since the run's start: `+0.13 s`."""
    return f"+{ns / 1e9:.2f} s"
