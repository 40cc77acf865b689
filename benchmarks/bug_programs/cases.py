"""The table of real bugs: which libraries a program needs, what to ask, what an answer must name, and where it is right."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Variant:
    """A program with the bug, or one without it."""

    pins: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    python: str = ""
    """The version of CPython, "" for any."""


@dataclass(frozen=True)
class Case:
    """One bug. `names` are regular expressions that must all match the first lines of the answer; in them, `{text}` is
    replaced by `FILE:LINE` of the program's line that contains the text."""

    name: str
    question: str
    names: tuple[str, ...]
    buggy: Variant
    mended: Variant | None
    scopes: tuple[str, ...] = ()
    """What to record besides the program, where the cause lies in a library."""
    server: str = ""
    """"redis" or "postgres"; its port is the first argument."""
    folder: str = field(default="")

    @property
    def program(self) -> Path:
        return FOLDER / self.folder / f"{self.name}.py"

    def missing(self, answer: str) -> list[str]:
        """Return the expressions that an answer does not match. The program's own name counts only in places."""
        found = []
        for name in self.names:
            has_place = "{" in name
            pattern = re.compile(re.sub(r"\{(.+?)\}", self._place, name), re.I | re.S)
            if not pattern.search(answer if has_place else answer.replace(self.name, "program")):
                found.append(pattern.pattern)
        return found

    def _place(self, match: re.Match[str]) -> str:
        lines = self.program.read_text().splitlines()
        found = [number for number, line in enumerate(lines, 1) if match[1] in line]
        if not found:
            raise ValueError(f"{self.program.name} has no line with {match[1]!r}")
        places = "|".join(map(str, found))
        return rf"{re.escape(self.program.name)}:(?:{places})\b"


CASES = (
    Case(
        "redis_cancel",
        "dave was given",
        ("request-carol", "cancel", "repl|answer|bytes|read"),
        Variant(("redis==4.5.1",)),
        Variant(("redis==4.5.5",)),
        ("redis.asyncio.**",),
        "redis",
    ),
    Case(
        "httpcore_1093",
        "no free connection",
        (
            "get-0",
            "cancel",
            r"\bmain\b|{task.cancel()}",
            "slot|capacity|gave .*back|given back|never (?:released|returned)",
        ),
        Variant(("httpcore==1.0.9", "anyio==4.9.0"), ("cancel",)),
        Variant(("httpcore==1.0.9", "anyio==4.9.0")),
        ("httpcore._async.**",),
    ),
    Case(
        "asgiref_348",
        "gave up on the database",
        ("middleware", r"\bview\b|{await asyncio.wait_for}", r"load_row|{await asyncio.wait_for}|executor|thread"),
        Variant(("asgiref==3.5.2",)),
        Variant(("asgiref==3.8.1",)),
    ),
    Case(
        "cpython_112202",
        "taker-2 still waits",
        ("taker-1", "cancel", "notif|wok|wak"),
        Variant(python="3.11"),
        Variant(python="3.13"),
    ),
    Case(
        "cached_property",
        "five reports in",
        ("cached_property|functools.py", r"writer-\d", "lock"),
        Variant(python="3.11"),
        Variant(python="3.12"),
        ("functools.**",),
    ),
    Case(
        "starlette_2516",
        "No response returned",
        ("disconnect|client (?:left|closed|went)|closed the connection", "cancel"),
        Variant(("starlette==0.37.1", "uvicorn==0.27.1", "anyio==4.9.0")),
        Variant(("starlette==0.39.0", "uvicorn==0.27.1", "anyio==4.9.0")),
        ("starlette.**",),
    ),
    Case(
        "sqla_12077",
        "connections of a pool of two",
        ("cancel", "close|closing|closed|terminat"),
        Variant(("sqlalchemy==2.0.36", "asyncpg==0.30.0", "anyio==4.6.2.post1", "greenlet")),
        Variant(("sqlalchemy==2.0.40", "asyncpg==0.30.0", "anyio==4.6.2.post1", "greenlet")),
        ("sqlalchemy.pool.**", "sqlalchemy.dialects.postgresql.asyncpg.**"),
        "postgres",
    ),
    Case(
        "loguru_231",
        "the child did not end",
        ("logging-thread", "fork"),
        Variant(("loguru==0.4.1",)),
        Variant(("loguru==0.5.0",)),
        ("loguru._handler.**",),
    ),
    Case(
        "fork_lock",
        "the child hangs",
        (r"keeper|\bkeep\b", "fork", "guard|lock"),
        Variant(arguments=("fork",)),
        Variant(arguments=("spawn",)),
    ),
    Case(
        "lock_order",
        "is locked",
        (r"\brent\b", r"\bwages\b", "{with first.lock}", "circle|deadlock|each other|itself"),
        Variant(),
        Variant(arguments=("ordered",)),
    ),
)

OTHERS = (
    Case(
        "cpython_86296",
        "ignored its cancellation",
        (
            "mail-worker",
            r"\bmain\b|{worker.cancel()}",
            "wait_for",
            "swallow|lost|ignor|hid|drop|did not end|caught|discard",
        ),
        Variant(python="3.11"),
        Variant(python="3.12"),
        ("asyncio.tasks:wait_for",),
        folder="others",
    ),
    Case(
        "cpython_116720",
        "reading goes on",
        ("read-parts", "cancel", "swallow|lost|ignor|hid|drop|uncancel|caught|discard"),
        Variant(python="3.11"),
        Variant(python="3.13"),
        ("asyncio.taskgroups.**",),
        folder="others",
    ),
    Case(
        "cpython_103061",
        "the pool gives no answer",
        ("TypeError", r"_handle_results|result|Thread-\d"),
        Variant(),
        Variant(arguments=("plain",)),
        ("multiprocessing.pool.**",),
        folder="others",
    ),
    Case(
        "cpython_88831",
        "were never copied",
        ("copy-files", "collect|destroyed|deleted|no reference|refer"),
        Variant(),
        Variant(arguments=("keep",)),
        folder="others",
    ),
    Case(
        "loguru_712",
        "the request is stuck",
        (r"\brequest\b", "__del__|{connection closed}", "itself|own|again|already"),
        Variant(("loguru==0.6.0",)),
        None,
        ("loguru._handler.**",),
        folder="others",
    ),
    Case(
        "aiohttp_9670",
        "third page never came",
        ("get-second", "cancel", "slot|wok|wak|pass(?:ed)? .*on|given back|never (?:released|returned)"),
        Variant(("aiohttp==3.10.10",), ("cancel",)),
        Variant(("aiohttp==3.10.10",)),
        ("aiohttp.connector.**",),
        folder="others",
    ),
    Case(
        "executor_circle",
        "no address for",
        (r"\bvisit\b|visitor", "executor|pool", "resolve|getaddrinfo", "occup|busy|full|itself|circle|each other|free"),
        Variant(arguments=("1",)),
        Variant(arguments=("4",)),
        folder="others",
    ),
)
