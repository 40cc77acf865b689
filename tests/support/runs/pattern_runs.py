"""Runs of repeated calls with known patterns."""

from __future__ import annotations

from hypothesis import strategies as st

from clew.graph.build.builder import build

calls = st.recursive(
    st.tuples(st.sampled_from("abc"), st.just(())),
    lambda inside: st.tuples(st.sampled_from("fgh"), st.lists(inside, max_size=4).map(tuple)),
    max_leaves=8,
)


strands = st.lists(
    st.lists(st.tuples(calls, st.integers(1, 4)), min_size=1, max_size=8), min_size=1, max_size=3
)  # a strand is made of calls, each several times in a row


rounds = st.lists(st.lists(calls, min_size=1, max_size=4), min_size=1, max_size=3).flatmap(
    lambda known: st.lists(
        st.sampled_from(known).map(lambda body: [(call, 1) for call in body]), min_size=2, max_size=14
    )
)


def record(thread, call):
    function, inside = call
    thread.enter(function)
    for one in inside:
        record(thread, one)
    thread.exit(function)


def recorded(make_run, forests, name="patterns"):
    run = make_run(name)
    process = run.process()
    for number, forest in enumerate(forests):
        thread = process.thread(f"thread-{number}")
        for call, times in forest:
            for _ in range(times):
                record(thread, call)
    run.write()
    graph, _ = build(run.folder)
    return graph


def loop(make_run, rounds=100, every=7, name="loop"):
    """Write a run whose `main` repeats read, step and store; some steps log."""
    run = make_run(name)
    thread = run.process().thread()
    thread.enter("main")
    for number in range(rounds):
        thread.enter("read").exit("read").enter("step").enter("a").exit("a").enter("b").exit("b")
        if number % every == 0:
            thread.enter("log").exit("log")
        thread.exit("step").enter("store").exit("store")
    thread.exit("main")
    return run.write()
