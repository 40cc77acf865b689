"""A naive traversal of the flows of requests, one request, region and call at a time, and random runs for it."""

from __future__ import annotations

import random
from collections import Counter

from clew.graph.build.regions import opens
from clew.graph.model.graph import RegionKind
from clew.query.api import Run


class Naive:
    """The flows of a graph, computed from their definition."""

    def __init__(self, graph):
        self.graph = graph
        self.opener = {}
        for edge in range(len(graph.edge_src)):
            source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
            region = int(graph.region[target])
            if int(graph.region[source]) != region and opens(graph, target):
                known = self.opener.get(region)
                if known is None or target < int(graph.edge_dst[known]):
                    self.opener[region] = edge
        self.circles = {region for region in range(len(graph.regions)) if self.returns(region)}

    def home(self, enter):
        return int(self.graph.region[enter])

    def caller(self, enter):
        return int(self.graph.calls.caller[self.graph.calls.find(enter)])

    def visited(self, region):
        """Return the call that a region began in, -1 for a request outside of any call, or None if it is not a visit."""
        graph, opener = self.graph, int(self.graph.regions.opener[region])
        kind = int(graph.regions.kind[region])
        call = graph.call_of(opener)
        if kind == RegionKind.ROOT or (kind == RegionKind.SCOPE and graph.sites[int(graph.site[opener])].is_adapter):
            return None
        if call < 0:
            return -1 if kind == RegionKind.REQUEST else None
        return None if self.home(call) == region else call

    def inside(self, call, region):
        """Return the frame that runs in a region when `call` is its innermost call, or None."""
        while call >= 0:
            if self.home(call) == region:
                return ("call", call)
            call = self.caller(call)
        return None if self.visited(region) is None else ("visit", region)

    def led(self, region, seen=()):
        """Return the frame that a region belongs to and the event that led from there, or None."""
        if region in seen:
            return None
        graph, edge = self.graph, self.opener.get(region)
        if edge is not None:
            source = int(graph.edge_src[edge])
            around = int(graph.region[source])
            frame = self.inside(graph.call_of(source), around)
            return (frame, source) if frame else self.led(around, (*seen, region))
        around = int(graph.regions.parent[region])
        call = graph.call_of(int(graph.regions.opener[region]))
        if graph.regions.kind[region] != RegionKind.REQUEST or around < 0 or call < 0 or self.home(call) != region:
            return None
        if self.caller(call) < 0 and graph.regions.kind[around] == RegionKind.ROOT:
            return None
        frame = self.inside(self.caller(call), around)
        return (frame, -1) if frame else self.led(around, (*seen, region))

    def returns(self, region):
        at, seen = region, set()
        while True:
            led = self.led(at)
            if led is None or at in seen:
                return False
            seen.add(at)
            kind, number = led[0]
            at = self.home(number) if kind == "call" else number
            if at == region:
                return True

    def above(self, frame):
        kind, number = frame
        region = self.home(number) if kind == "call" else number
        if kind == "call":
            caller = self.caller(number)
            mine = self.inside(caller, region)
            if mine:
                return mine
        led = None if region in self.circles else self.led(region)
        return led and led[0]

    def frames(self):
        calls = [("call", enter) for enter in self.graph.calls.enter.tolist()]
        return calls + [
            ("visit", number) for number in range(len(self.graph.regions)) if self.visited(number) is not None
        ]

    def root(self, request):
        region, call = int(self.graph.region[request]), self.graph.call_of(request)
        return ("call", call) if call >= 0 and self.home(call) == region else ("visit", region)

    def event(self, frame):
        return frame[1] if frame[0] == "call" else int(self.graph.regions.first[frame[1]])

    def name(self, frame):
        call = frame[1] if frame[0] == "call" else self.visited(frame[1])
        if call >= 0:
            return self.graph.sites[int(self.graph.site[call])].label
        strand = self.graph.strand_of(self.event(frame))
        return f"{strand.kind} {strand.name.rstrip('0123456789')}"

    def frame_at(self, row):
        region = int(self.graph.region[row])
        frame = self.inside(self.graph.call_of(row), region)
        if frame or region in self.circles:
            return frame
        led = self.led(region)
        return led and led[0]


def random_run(new_run, seed, steps=150):
    chance = random.Random(seed)
    run = new_run(f"random-{seed}")
    threads = [
        process.thread(f"t{index}")
        for process in (run.process(f"p{number}", host=f"host{number % 2}") for number in range(chance.randint(1, 3)))
        for index in range(chance.randint(1, 3))
    ]
    # Clocks of one boot are not corrected, which matters because the messages of a random run contradict each other.
    stacks, sent, scopes = {id(thread): [] for thread in threads}, [], Counter()
    for step in range(steps):
        thread = chance.choice(threads)
        calls = stacks[id(thread)]
        action = chance.random()
        run.clock.now += chance.randrange(100)
        if action < 0.28:
            calls.append(chance.choice("fgh"))
            thread.enter(calls[-1])
            if chance.random() < 0.3:
                thread.request(chance.choice(["Read", "Write"]))
        elif action < 0.45 and calls:
            (thread.exit if chance.random() < 0.9 else thread.unwind)(calls.pop())
        elif action < 0.62:
            sent.append((step, chance.choice(["queue", "http"])))
            thread.send(*sent[-1])
        elif action < 0.8 and sent:
            (thread.receive if chance.random() < 0.75 else thread.join)(*chance.choice(sent))
        elif action < 0.84 and sent:
            thread.begin(*chance.choice(sent))
            scopes[id(thread)] += 1
        elif action < 0.88 and scopes[id(thread)]:
            thread.end()
        elif action < 0.9:
            thread.request("Bare")
        elif action < 0.93:
            (thread.release if chance.random() < 0.5 else thread.acquire)(chance.randint(0, 2))
        else:
            thread.log(f"line {step} of it", level=chance.choice([20, 40]))
    graph = run.graph()
    return Run(graph.info, run.folder, [], graph)
