"""Counts of a live run after any number of updates equal the counts of one read of the whole run."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.build.builder import build
from clew.graph.ops.profile.live_counts import Counts, Tally
from clew.records.format.event import Kind
from tests.support.examples import examples
from tests.support.runs.growing_runs import Growing, work

steps = st.lists(
    st.tuples(
        st.sampled_from(["work", "nested", "raise", "thread", "process", "pack", "look", "look"]),
        st.integers(0, 5),
        st.integers(1, 9),
    ),
    min_size=3,
    max_size=15,
)


def of_graph(folder):
    """Return (calls, open calls, raised) by function, counted event by event in the built graph, and the graph."""
    graph, _ = build(folder)
    kinds = {kind: Counter() for kind in (Kind.ENTER, Kind.EXIT, Kind.UNWIND)}
    for kind, site in zip(graph.kind.tolist(), graph.site.tolist(), strict=True):
        if kind in kinds:
            kinds[kind][graph.sites[site].label] += 1
    begun, ended, raised = kinds.values()
    return {name: (count, count - ended[name] - raised[name], raised[name]) for name, count in begun.items()}, graph


def counts_by_function(counts):
    found = {}
    for one in counts.functions:  # processes may have a function at different lines
        before = found.get(one.label, (0, 0, 0))
        found[one.label] = tuple(map(sum, zip(before, (one.calls, one.under_way, one.raised), strict=True)))
    return found


@given(steps)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_live_counts_after_any_growth_equal_counts_of_whole_run(new_run, script):
    growing = Growing(new_run())
    threads = [growing.start().process.thread()]
    tally = Tally(growing.folder)
    for what, which, count in script:
        thread = threads[which % len(threads)]
        if what == "work":
            work(thread, 2 * count, 3900)
        elif what == "nested":
            thread.enter(f"g{count}").enter("h")
        elif what == "raise":
            thread.enter(f"g{count}").unwind(f"g{count}")
        elif what == "thread":
            threads.append(thread.process.thread(f"worker-{len(threads)}"))
        elif what == "process":
            threads.append(growing.start().process.thread())
        elif what == "pack":
            growing.write()
            growing.lives[which % len(growing.lives)].pack()
        elif what == "look":
            growing.write()
            tally.poll()
    growing.write()
    counts = tally.poll()
    expected, graph = of_graph(growing.folder)
    assert counts_by_function(counts) == expected
    assert (counts.events, counts.processes) == (len(graph), len(growing.lives))
    assert counts.calls == sum(calls for calls, _, _ in expected.values())
    growing.finish()
    assert tally.poll() == counts == Tally(growing.folder).poll()


def test_live_counts_update_reads_only_added_records(run, monkeypatch):
    from clew.graph.ops.profile import live_counts as module

    growing = Growing(run)
    live = growing.start()
    thread = live.process.thread()
    tally = Tally(growing.folder)
    work(thread, 200, 2000)
    growing.write()
    tally.poll()
    read = []
    decode = module.decode
    monkeypatch.setattr(module, "decode", lambda parts: (read.append(sum(map(len, parts))), decode(parts))[1])
    live.pack()
    growing.write()
    tally.poll()
    assert sum(read) == 0
    thread.enter("f").exit("f")
    growing.write()
    assert counts_by_function(tally.poll()) == {"app:f": (201, 0, 0)}
    assert sum(read) == 32


def test_live_counts_include_errors_and_dropped_records(run):
    growing = Growing(run, keep_newest=True)
    live = growing.start()
    thread = live.process.thread()
    tally = Tally(growing.folder)
    calls = 0
    for _ in range(6):
        work(thread, 60, 3900)
        calls += 60
        growing.write()
        counts = tally.poll()
        live.pack()
        live.drop()
    growing.write()
    assert tally.poll().calls == counts.calls == calls
    assert counts.errors == 0
    thread.log("bad", 40).log("worse", 50).log("odd", 30)
    growing.write()
    assert tally.poll().errors == 2


def test_live_counts_of_missing_or_invalid_run_are_empty(tmp_path):
    assert Tally(tmp_path / "gone").poll() == Counts()
    (tmp_path / "1-0000000000000001.clew").write_bytes(b"\xff" * 100_000)
    assert Tally(tmp_path).poll() == Counts()
