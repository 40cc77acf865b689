"""Make runs in which a task fails, and somebody takes its exception or nobody does."""

from __future__ import annotations

from random import Random

from clew.records.format.event import Kind
from clew.records.format.facts import Ended, Exception_, Frame
from tests.support.diagnoses.made import Made


def make(random: Random, fault: bool) -> Made:
    """Return a run with an exception that nobody took, or one that was awaited, or that a callback saw, or no failure."""
    made = Made(random)
    owner, worker, noise = made.names(3)
    thread = made.thread
    shape = random.choice(["unretrieved", "silent"] if fault else ["awaited", "callback", "cancelled"])
    raised = Exception_("no such order", "raised", (Frame("/src/app.py", 30, "load"),))
    made.noise(noise)
    thread.step(worker).enter("load").fact(Kind.EXCEPTION, 77, "KeyError", raised).unwind("load")
    end = "cancelled" if shape == "cancelled" else "failed"
    thread.fact(Kind.ENDED, made.key(worker), "", Ended(end, 77 if end == "failed" else 0))
    if shape in ("awaited", "callback"):
        thread.send(worker, "asyncio.future" if shape == "awaited" else "asyncio.handle")
    thread.stop(worker)
    made.noise(noise)
    made.pause()
    if shape == "callback":
        thread.begin(worker).end()
    if shape == "awaited":
        thread.step(owner).join(worker, "asyncio.future").stop(owner)
    if shape == "unretrieved":
        thread.fact(Kind.EXCEPTION, 77, "KeyError", raised._replace(role="unretrieved"))
    made.fault = worker if fault else ""
    return made
