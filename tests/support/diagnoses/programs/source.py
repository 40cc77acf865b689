"""Write the source of a small program at random: names, nesting, and the fault that it has.

The programs follow the pages of `docs/diagnoses` and know nothing of the queries, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from textwrap import dedent, indent

NOUNS = (
    "account", "basket", "cache", "device", "engine", "feed", "gateway", "harbour", "invoice", "journal", "kiosk",
    "ledger", "market", "notice", "order", "parcel", "quote", "report", "stock", "ticket", "upload", "voucher",
)  # fmt: skip
VERBS = (
    "apply", "build", "collect", "deliver", "export", "fetch", "gather", "handle", "inspect", "join", "load",
    "merge", "notify", "offer", "publish", "refresh", "settle", "track", "update", "verify",
)  # fmt: skip
HEAD = """
    import asyncio, contextlib, logging, os, queue, threading, time
    from concurrent.futures import ThreadPoolExecutor

    logging.basicConfig(level=logging.INFO)
    log = logging.getLogger("app")
"""


@dataclass
class Source:
    """A program under construction, and what an answer about it must name."""

    random: Random
    fault: bool
    """Whether the fault is planted; otherwise the program is a near miss."""
    question: str = ""
    """The line that the program logs when the fault shows."""
    names: tuple[str, ...] = ()
    """Words that the finding must contain."""
    any_of: tuple[str, ...] = ()
    """Words of which the finding must contain one, if there are any."""
    spec: str = ""
    """The lines that the spec needs; "" for a recording with the default plan."""
    asynchronous: bool = False
    """Whether `main` is a coroutine function."""
    quiet: bool = False
    """Whether the program has no noise, because harmless strands would suffer from the fault, too."""
    forks: bool = False
    """Whether the scenario forks. Noise ends before: a lock of stderr that it held would stay taken in the child (gh-50970)."""
    parts: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.question = (
            f"{self.pick(*NOUNS)} {self.random.randrange(1000)} {self.pick('is late', 'failed', 'got lost')}"
        )

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self, *words: tuple[str, ...]) -> str:
        """Return an identifier that the program does not have yet."""
        while True:
            name = "_".join(self.random.choice(choices) for choices in words or (VERBS, NOUNS))
            if name in self.used:
                name += f"_{self.random.randrange(100)}"
            if name not in self.used:
                self.used.add(name)
                return name

    def strand(self) -> str:
        """Return a name for a task or a thread."""
        return self.name(NOUNS).replace("_", "-") + f"-{self.random.randrange(10, 100)}"

    def strands(self, count: int) -> list[str]:
        return [self.strand() for _ in range(count)]

    def add(self, text: str, **values: object) -> None:
        """Append a part, with the values in place of `$name`s. A value of several lines gets the indentation of its place.

        A part that is written with coroutines is made one of threads if the program is not asynchronous.
        """
        part = filled(text, **values)
        self.parts.append(part if self.asynchronous else _with_threads(part))

    def limit(self) -> float:
        """Return a time limit in seconds that passes soon."""
        return self.random.randrange(80, 250) / 1000

    def lock(self) -> str:
        """Return the class of a lock."""
        return "asyncio.Lock" if self.asynchronous else self.pick("threading.Lock", "threading.RLock")

    def within(self, call: str, limit: object) -> str:
        """Return the expression that waits by a call for a time, such as `lock.acquire(timeout=0.1)`."""
        if self.asynchronous:
            return f"await asyncio.wait_for({call}, {limit})"
        return f"{call[:-1]}{'' if call.endswith('()') else ', '}timeout={limit})"

    def limited(self, call: str, limit: object, otherwise: str, then: str = "") -> str:
        """Return the statements that wait by a call for a time, and what to do if it passes, or after the wait."""
        if self.asynchronous or ".get(" in call or ".put(" in call:
            wait = self.within(call, limit)
            if self.asynchronous and self.random.random() < 0.5:
                wait = f"async with asyncio.timeout({limit}): await {call}"
            late = "TimeoutError" if self.asynchronous else "(queue.Empty, queue.Full)"
            text = f"try:\n    {wait}\nexcept {late}:\n    {otherwise}"
        else:
            text = f"if not {self.within(call, limit)}:\n    {otherwise}"
        return f"{text}\nelse:\n    {then}" if then else text

    def start(self, variable: str, call: str, name: str) -> str:
        """Return the statements that start a task or thread with a name for a call."""
        if self.asynchronous:
            return f'{variable} = asyncio.create_task({call}, name="{name}")'
        return f'{variable} = threading.Thread(target=lambda: {call}, name="{name}")\n{variable}.start()'

    def finish(self, *variables: str) -> str:
        """Return the statements that wait for the ends of tasks or threads, whichever these are."""
        if self.asynchronous:
            return f"await asyncio.gather({', '.join(variables)}, return_exceptions=True)"
        return "\n".join(f"{variable}.join()" for variable in variables)

    def later(self, seconds: float, function: str) -> str:
        """Return the statement that makes the event loop or a thread call a function later."""
        if self.asynchronous:
            return f"asyncio.get_running_loop().call_later({seconds}, {function})"
        return f"threading.Timer({seconds}, {function}).start()"

    def nested(self, call: str, arguments: str = "") -> str:
        """Put a call into up to three functions, each of which calls the next; return the call of the outermost.

        `arguments` are the names that the call needs, in the form in which they are passed on.
        """
        way, wait = ("async def", "await ") if self.asynchronous else ("def", "")
        for _ in range(self.random.randrange(3)):
            name = self.name()
            body = f"return {wait}{call}"
            if self.random.random() < 0.3:
                body = f"for _ in range(1):\n        {body}"
            self.parts.append(f"{way} {name}({arguments}):\n    {body}\n")
            call = f"{name}({arguments})"
        return call

    def text(self, noise: Callable[[Source], tuple[str, str]]) -> str:
        """Return the whole program: the parts, noise, and the calls of both. The last part defined `scenario`."""
        begin, end = ("", "") if self.quiet else noise(self)
        if self.forks:
            begin, end = begin + end, ""
        if self.asynchronous:
            main = f"async def main():\n{begin}    await scenario()\n{end}\nasyncio.run(main())\n"
        else:
            main = f"def main():\n{begin}    scenario()\n{end}\nmain()\n"
        return "\n\n".join([dedent(HEAD).strip() + "\n", *self.parts, main])


def filled(text: str, **values: object) -> str:
    """Return a text without its indentation, with the values in place of `$name`s. A value may contain others' names."""
    lines = dedent(text).strip("\n").splitlines()
    for _round in range(2):
        for name in sorted(values, key=len, reverse=True):
            lines = [part for line in lines for part in _put(line, f"${name}", str(values[name]))]
    return "\n".join(lines) + "\n"


def _with_threads(text: str) -> str:
    """Return a program of coroutines as one of threads."""
    for old, new in (
        ("async ", ""), ("await ", ""), ("asyncio.sleep", "time.sleep"), ("asyncio.Queue", "queue.Queue"),
        ("asyncio.", "threading."),
    ):  # fmt: skip
        text = text.replace(old, new)
    return text


def _put(line: str, name: str, value: str) -> list[str]:
    """Replace a name in a line. A value of several lines gets the indentation of its place."""
    if line.strip() == name:
        return indent(value, line[: len(line) - len(line.lstrip())]).splitlines()
    return [line.replace(name, value)]
