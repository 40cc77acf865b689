"""Make runs in which an operation fails, because its object was closed or for another reason."""

from __future__ import annotations

from random import Random

from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame
from tests.support.diagnoses.made import Made

CLOSED = (
    ("ValueError", "I/O operation on closed file.", "a file"),
    ("RuntimeError", "Event loop is closed", "an event loop"),
    ("RuntimeError", "cannot schedule new futures after shutdown", "an executor"),
    ("ValueError", "Pool not running", "a pool"),
    ("RuntimeError", "Session is closed", "a session"),
    ("queue.ShutDown", "", "a queue"),
    ("sqlite3.ProgrammingError", "Cannot operate on a closed database.", "a database connection"),
)
OTHERS = (
    ("ConnectionResetError", "[Errno 104] Connection reset by peer"),
    ("ConnectionError", "connection was closed by the server"),
    ("OSError", "An existing connection was forcibly closed by the remote host"),
    ("ValueError", "the door is closed"),
    ("KeyError", "closed"),
    ("websockets.exceptions.ConnectionClosedError", "no close frame received or sent"),
)


def make(random: Random, fault: bool) -> Made:
    """Return a run with a use after a close, or with an exception of another kind."""
    made = Made(random)
    closer, user, noise = made.names(3)
    thread = made.thread
    made.noise(noise)
    thread.step(closer).enter("main")
    for name in (closing := random.choice([["Store.close"], ["Store.__exit__", "Store.close"]])):
        thread.enter(name)
    for name in reversed(closing):
        thread.exit(name)
    thread.exit("main").stop(closer)
    made.pause()
    name, message, thing = random.choice(CLOSED) if fault else (*random.choice(OTHERS), "")
    at = (Frame("/lib/io.py", 7, "write"), Frame("/src/app.py", 30, "Store.save"))
    thread.step(user).enter("Store.save")
    thread.fact(Kind.EXCEPTION, 5, name, Exception_(message, "raised", at)).unwind("Store.save").stop(user)
    made.noise(noise)
    made.fault = f"{user} {thing} {closer} {closing[0]}" if fault else ""
    return made
