"""Runs of the same requests for comparisons: some are slower, have an added call or fail."""

from __future__ import annotations

import random

from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from tests.support.runs.records import RunFolder

NAMES = ("list", "show", "buy")


def record(workspace, name, seed, *, slow=None, more=None, fails=None, requests=30):
    """Write requests of three names; the store of `slow` is 20 % slower, and `more` has an added call."""
    chance = random.Random(seed)
    folder, info = create_run(workspace, name=name, command=["app"], spec="", plan=dump(Plan()), cwd=workspace)
    save_run(folder, info)
    run = RunFolder(folder, info)
    main, worker = (process := run.process()).thread(), process.thread("worker")

    def wait(mean):
        run.clock.now += round(chance.gauss(mean, mean / 20)) * 1000

    for request in range(requests * len(NAMES)):
        kind = NAMES[request % len(NAMES)]
        main.enter("serve").request(kind).enter("parse")
        wait(50)
        if fails is not None:
            bad = kind == fails and request % 2
            main.log(f"item {request} cannot be read" if bad else f"item {request} was read", 40 if bad else 20)
        main.exit("parse").send(request, "queue")
        worker.receive(request, "queue").enter(f"{kind}_store")
        wait(240 if kind == slow else 200)
        worker.send(("done", request), "queue").exit(f"{kind}_store")
        main.join(("done", request), "queue")
        if kind == more:
            main.enter("audit")
            wait(30)
            main.exit("audit")
        main.exit("serve")
    return run.write()


def record_all(folder):
    """Write two runs before and two after a change, a run with a new call, and an empty run."""
    record(folder, "before", 1)
    record(folder, "before-2", 2)
    record(folder, "slow", 3, slow="show")
    record(folder, "slow-2", 4, slow="show")
    record(folder, "more", 5, more="buy")
    record(folder, "empty", 6, requests=0)
