"""Make runs in which threads and tasks use one state."""

from __future__ import annotations

from random import Random

from tests.support.diagnoses.made import Made


def make(random: Random, fault: bool) -> Made:
    """Return a run with a race, or one in which a hand-over orders the accesses, or which only one thread writes."""
    made = Made(random)
    one = made.thread
    two = made.process.thread("second")
    state = f"total-{random.randrange(100)}"
    shape = random.choice(["lost", "chance"] if fault else ["ordered", "read only", "one value", "read again"])
    one.enter("main").define(state)
    if shape != "one value":
        made.pause()
        one.send("start", "thread.start")
        two.join("start", "thread.start")
    if shape == "lost":
        one.enter("add").use(state)
        two.enter("add").use(state)
        two.define(state).exit("add")
        one.define(state).exit("add")
    elif shape == "chance":
        two.enter("set").define(state).exit("set")
        made.pause()
        one.enter("read").use(state).exit("read")
    elif shape == "ordered":
        two.enter("set").use(state).define(state).exit("set").send("end", "thread.join")
        one.join("end", "thread.join").enter("add").use(state).define(state).exit("add")
    elif shape == "read only":
        for thread in (one, two, one):
            thread.enter("read").use(state).exit("read")
    elif shape == "one value":
        two.enter("read").use(state).exit("read")
    else:
        one.enter("add").use(state).define(state).exit("add").send("more", "queue")
        two.join("more", "queue").enter("add").use(state).define(state).exit("add")
    one.exit("main")
    made.fault = state if fault else ""
    return made
