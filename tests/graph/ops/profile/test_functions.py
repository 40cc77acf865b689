"""Profile the functions of small programs whose links, waits and exceptions are known."""

import numpy as np

from clew.graph.ops.profile.functions import BINS_PER_OCTAVE, Raised, Value, find_profiles
from clew.graph.store import profile_cache
from clew.graph.store.store import open_graph
from clew.records.format.event import Kind


def by_label(graph):
    return {profile.statistics.label: profile for profile in find_profiles(graph).by_site.values()}


def links_of(graph):
    names = [site.label for site in graph.sites]
    return {(names[link.caller], names[link.callee], link.how): link for link in find_profiles(graph).links}


def test_profile_histogram_has_each_call_in_bin_of_its_time(run):
    thread, now = run.process().thread(), 0
    took = [1, 2, 3, 4, 7, 100, 1000, 1001, 1 << 20]
    for length in took:
        thread.enter("f", at=now).exit("f", at=now + length)
        now += length + 10
    profile = by_label(run.graph())["app:f"]
    assert sum(profile.histogram) == len(took) and profile.max_ns == 1 << 20
    bounds = 2 ** ((profile.first_bin + np.arange(len(profile.histogram) + 1)) / BINS_PER_OCTAVE)
    assert tuple(np.histogram(took, bounds)[0]) == profile.histogram


def test_profile_links_across_threads_have_their_channel(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("main", at=0).enter("parse", at=10).exit("parse", at=30).send("job", at=40, channel="executor.submit")
    worker.begin("job", at=50, channel="executor.submit").enter("work", at=60).enter("parse", at=70)
    worker.exit("parse", at=170).exit("work", at=200).end(at=210)
    main.exit("main", at=300)
    found = links_of(run.graph())
    assert {key: (link.calls, link.total_ns, link.p95_ns) for key, link in found.items()} == {
        ("app:main", "app:parse", ""): (1, 20, 20),
        ("app:work", "app:parse", ""): (1, 100, 100),
        ("app:main", "app:work", "executor.submit"): (1, 140, 140),
    }


def test_profile_wait_belongs_to_waiting_call_and_has_its_source(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    worker.enter("work", at=10).send("answer", at=500, channel="executor.result").exit("work", at=510)
    main.enter("main", at=0).enter("ask", at=100).join("answer", at=520, channel="executor.result")
    main.exit("ask", at=530).exit("main", at=540)
    graph = run.graph()
    found = by_label(graph)
    (wait,) = found["app:ask"].waits
    assert (wait.channel, graph.sites[wait.source].label, wait.count, wait.total_ns) == (
        "executor.result",
        "app:work",
        1,
        420,
    )
    assert found["app:main"].waits == found["app:work"].waits == ()


def test_profile_has_no_wait_for_message_that_came_earlier(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    worker.enter("work", at=10).send("answer", at=50).exit("work", at=60)
    main.enter("main", at=0).log("busy", at=400).join("answer", at=520).exit("main", at=540)
    assert by_label(run.graph())["app:main"].waits == ()


def test_profile_counts_exceptions_by_raising_function(run):
    thread = run.process().thread()
    for _ in range(2):
        thread.enter("outer").enter("inner").unwind("inner").unwind("outer")
    thread.enter("outer").put(Kind.PAYLOAD, channel="exception", text="ValueError('no')").unwind("outer")
    graph = run.graph()
    found = by_label(graph)
    names = {site.label: number for number, site in enumerate(graph.sites)}
    inner, outer = names["app:inner"], names["app:outer"]
    assert found["app:inner"].raised == (Raised(inner, "", 2),)
    assert set(found["app:outer"].raised) == {Raised(inner, "", 2), Raised(outer, "ValueError", 1)}


def test_profile_of_values_reports_the_last_one(run):
    thread = run.process().thread()
    for value in ("1", "2", "x" * 500):
        thread.enter("f").put(Kind.PAYLOAD, channel="size", text=value).exit("f")
    (value,) = by_label(run.graph())["app:f"].values
    assert value == Value("size", "x" * 119 + "…", 3)


def test_profile_cache_damaged_or_stale_file_is_recomputed(run, monkeypatch):
    monkeypatch.setattr(profile_cache, "SMALL", 0)
    thread = run.process().thread()
    thread.enter("f", at=0).exit("f", at=100)
    folder = run.write()
    graph, _ = open_graph(folder)
    assert profile_cache.cached_profiles(folder, graph) is profile_cache.cached_savings(folder, graph, 10) is None
    found, saved = profile_cache.profiles_of(folder, graph), profile_cache.savings_of(folder, graph, 10)
    assert profile_cache.cached_profiles(folder, graph) == found == find_profiles(graph)
    assert profile_cache.cached_savings(folder, graph, 10) == saved and saved.by_label["app:f"].saved_ns == 10
    assert profile_cache.cached_savings(folder, graph, 20) is None
    kept = folder / profile_cache.FOLDER / "profiles.json"
    for damage in (kept.read_text()[:-20], "", "[]\n{}"):
        kept.write_text(damage)
        assert profile_cache.cached_profiles(folder, graph) is None
        assert profile_cache.profiles_of(folder, graph) == found
    thread.enter("f", at=200).exit("f", at=300)
    folder = run.write()
    graph, _ = open_graph(folder)
    assert profile_cache.cached_profiles(folder, graph) is None


def test_profiles_of_large_run_are_the_same_in_a_worker_process(run, monkeypatch):
    thread = run.process().thread()
    thread.enter("f", at=0).enter("g", at=10).exit("g", at=50).exit("f", at=100)
    folder = run.write()
    graph, _ = open_graph(folder)
    here = profile_cache.profiles_of(folder, graph), profile_cache.savings_of(folder, graph, 10)
    for name in ("SMALL", "LARGE"):
        monkeypatch.setattr(profile_cache, name, 0)
    told = []
    there = (
        profile_cache.profiles_of(folder, graph, lambda *step: told.append(step)),
        profile_cache.savings_of(folder, graph, 10),
    )
    assert there == here and told
    assert sorted(path.name for path in (folder / profile_cache.FOLDER).iterdir()) == [
        "profiles.json",
        "savings-10.json",
    ]
