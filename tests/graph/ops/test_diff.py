import pytest
from scipy import stats

from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.diff import diff, diff_of_runs, duration, times
from clew.records.errors import ClewError

MS = 1_000_000


@pytest.fixture
def recorded(new_run):
    """Return a function that records a run whose `main` calls functions, given as name -> durations in ns."""

    def record(counted=None, **functions):
        run = new_run()
        process = run.process()
        process.counters = {f"store:{name}": calls for name, calls in (counted or {}).items()}
        thread = process.thread()
        now = 0
        thread.enter("store:main", at=now)
        for name, calls in functions.items():
            for length in calls:
                now += 10
                thread.enter(f"store:{name}", at=now)
                now += length
                thread.exit(f"store:{name}", at=now)
        thread.exit("store:main", at=now + 10)
        return aggregate(run.graph(), "function")

    return record


def test_diff_of_slower_function_names_it_with_its_numbers(recorded):
    before = recorded(lookup=[12_000] * 800, write=[100_000] * 100)
    after = recorded(lookup=[496_000] * 800, write=[120_000] * 100)
    result = diff(before, after)
    assert result.sentence() == (
        "store:lookup got 41.3x slower: 12 µs -> 496 µs per call over 800 calls, +387 ms in all (99 % of the change)"
    )
    assert [row.label for row in result.rows] == ["store:lookup", "store:write", "store:main"]
    lookup = result.rows[0]
    assert (lookup.status, lookup.calls_before, lookup.calls_after) == ("both", 800, 800)
    assert lookup.delta_ns == 800 * 484_000
    assert lookup.location == ("/src/store.py", 20)


def test_diff_of_equal_runs_has_no_finding(recorded):
    result = diff(recorded(f=[5 * MS] * 10), recorded(f=[5 * MS] * 10))
    assert result.sentence() == "no function changed noticeably: the self time in all is 50 ms before and 50 ms after"
    assert result.findings() == []


def test_diff_of_noise_has_no_finding(recorded):
    # 4 % slower; a tiny function ten times slower; and a change of a share too small to matter.
    before = recorded(f=[500 * MS], tiny=[1_000], g=[20 * MS])
    after = recorded(f=[520 * MS], tiny=[10_000], g=[25 * MS])
    assert diff(before, after).findings() == []


def test_diff_of_small_program_that_doubled_has_finding(recorded):
    assert (
        diff(recorded(f=[100_000]), recorded(f=[300_000]))
        .sentence()
        .startswith("store:f got 3x slower: 100 µs -> 300 µs")
    )


def test_diff_function_of_one_side_is_reported_as_such(recorded):
    before, after = recorded(f=[MS], old=[30 * MS] * 2), recorded(f=[MS], new=[50 * MS])
    result = diff(before, after)
    assert result.sentence() == (
        "store:old runs only before: 2 calls of 30 ms each, −60 ms in all (others got slower meanwhile); "
        "1 more function changed noticeably"
    )
    assert {(row.label, row.status) for row in result.rows} >= {("store:old", "before"), ("store:new", "after")}
    assert diff(recorded(f=[MS]), recorded(f=[MS], new=[50 * MS])).sentence() == (
        "store:new runs only after: 1 call of 50 ms each, +50 ms in all (100 % of the change)"
    )


def test_diff_more_calls_of_same_length_are_not_slower(recorded):
    text = diff(recorded(f=[MS] * 10), recorded(f=[MS] * 40)).sentence()
    assert text.startswith("store:f was called more often: 10 calls before and 40 after of 1 ms each, +30 ms in all")


def test_diff_of_faster_function_reports_speedup(recorded):
    text = diff(recorded(f=[10 * MS] * 10), recorded(f=[5 * MS] * 10)).sentence()
    assert text == "store:f got 2x faster: 10 ms -> 5 ms per call over 10 calls, −50 ms in all (100 % of the change)"


def test_diff_nodes_and_edges_have_status(recorded):
    result = diff(recorded(old=[MS]), recorded(new=[MS], old=[MS]))
    nodes = {node.label: node.status for node in result.nodes}
    assert nodes == {"store:main": "both", "store:old": "both", "store:new": "after"}
    labels = [node.label for node in result.nodes]
    assert {
        (labels[e.source], labels[e.target], e.status, e.count_before, e.count_after)
        for e in result.edges
        if e.kind == "call"
    } >= {
        ("store:main", "store:new", "after", 0, 1),
        ("store:main", "store:old", "both", 1, 1),
    }


def test_diff_of_graphs_of_different_levels_is_refused(recorded):
    graph = recorded(f=[MS])
    with pytest.raises(ClewError, match='only graphs of one level can be compared, these are "function" and "module"'):
        diff(graph, aggregate(graph.graph, "module"))


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1 µs"),
        (12_340, "12.3 µs"),
        (999_600, "1 ms"),
        (1.234e9, "1.23 s"),
        (123.4e9, "123 s"),
        (4_567e9, "4,567 s"),
    ],
)
def test_duration_has_three_digits(ns, text):
    assert duration(ns) == text


def test_times_factor_has_three_digits():
    assert [times(value) for value in (1.5, 41.33, 413.3)] == ["1.5x", "41.3x", "413x"]


def test_diff_ranks_steady_slowdown_above_scattered_calls(recorded):
    """A process that waits for others has few calls and long ones; the changed function has many short ones."""
    noise = ([100_000_000, 700_000_000, 900_000_000], [300_000_000, 1_500_000_000, 1_200_000_000])
    before = recorded(waits=noise[0], f=[10_000] * 200)
    after = recorded(waits=noise[1], f=[1_000_000] * 200)
    result = diff(before, after)
    assert result.rows[0].label == "store:f"
    assert result.sentence().startswith("store:f got 100x slower")


def test_diff_reports_missing_times_of_counted_calls(recorded):
    """`main` seems slower, because it holds the time of the calls that were only counted."""
    before = recorded(f=[MS] * 10, counted={"f": 90})
    after = recorded(f=[3 * MS] * 10, counted={"f": 290})
    result = diff(before, after)
    row = next(row for row in result.rows if row.label == "store:f")
    assert (row.calls_before, row.counted_before, row.calls_after, row.counted_after) == (100, 90, 300, 290)
    assert (row.per_call_before_ns, row.per_call_after_ns) == (MS, 3 * MS)
    assert result.sentence() == (
        "the timed calls of store:f took more time, of 100 calls before and 300 after: 10 ms -> 30 ms, +20 ms in all "
        "(100 % of the change); times of 380 counted calls are missing"
    )
    assert result.counted() == (
        "times of 380 counted calls are missing, and lie in the self time of their callers: "
        "store:f (100 calls before and 300 after)"
    )
    assert diff(recorded(f=[MS]), recorded(f=[MS])).counted() == ""


def test_diff_caller_of_counted_calls_is_not_called_slower(new_run):
    def record(length, counted):
        run = new_run()
        process = run.process()
        process.counters = {"store:f": counted}
        process.thread().enter("store:main", at=0).enter("store:f", at=10).exit("store:f", at=20).exit(
            "store:main", at=length
        )
        return aggregate(run.graph(), "function")

    text = diff(record(10 * MS, 100), record(60 * MS, 900)).sentence()
    assert text.startswith("store:main, counted calls of store:f included, took more time: 10 ms -> 60 ms, +50 ms")


def test_diff_order_names_larger_change_explained_by_scatter(recorded):
    noise = ([100 * MS, 700 * MS, 900 * MS], [300 * MS, 1_500 * MS, 1_200 * MS])
    before = recorded(waits=noise[0], f=[10_000] * 200)
    after = recorded(waits=noise[1], f=[1_000_000] * 200)
    assert diff(before, after).order() == (
        "ordered by the change beyond the scatter of the calls; the largest change, +1.3 s of store:waits, has none of it "
        "beyond"
    )
    plain = diff(recorded(f=[MS] * 10), recorded(f=[2 * MS] * 10))
    assert plain.order() == "ordered by the change beyond the scatter of the calls"


def test_diff_label_without_calls_and_time_has_no_row(new_run):
    def record():
        run = new_run()
        process = run.process()
        process.thread().enter("f").exit("f")
        process.thread("idle").log("here")
        return aggregate(run.graph(), "function")

    result = diff(record(), record())
    assert {row.label for row in result.rows} == {"app:f"}
    assert {node.label for node in result.nodes} == {"app:f", "thread idle"}


def test_diff_of_several_runs_has_statistics_of_average_run(recorded):
    before = [recorded(f=[10 * MS] * 2, once=[9 * MS]), recorded(f=[10 * MS] * 2), recorded(f=[10 * MS] * 3)]
    after = [recorded(f=[40 * MS] * 2), recorded(f=[40 * MS] * 2)]
    result = diff_of_runs(before, after)
    rows = {row.label: row for row in result.rows}
    found = rows["store:f"]
    assert (found.calls_before, found.calls_after) == (pytest.approx(7 / 3), 2)
    assert (found.self_before_ns, found.self_after_ns) == (pytest.approx(70 * MS / 3), 80 * MS)
    assert (found.per_call_before_ns, found.per_call_after_ns) == (pytest.approx(10 * MS), 40 * MS)
    # A run that does not call the function counts as zero.
    assert (rows["store:once"].status, rows["store:once"].self_before_ns) == ("before", 3 * MS)
    assert result.sentence().endswith("; means of a run, of 3 runs before and 2 runs after")
    assert "2.3 calls before and 2 after" in result.sentence()


def test_diff_scatter_between_runs_equals_students_t_test(recorded):
    before, after = [100, 130, 90], [140, 160, 120, 150]
    # Many equal calls: the scatter of the calls is less than that of the runs.
    sides = ([recorded(f=[length * MS // 100] * 100) for length in side] for side in (before, after))
    result = diff_of_runs(*sides)
    row = next(row for row in result.rows if row.label == "store:f")
    test = stats.ttest_ind(after, before)
    error = row.delta_ns / test.statistic
    assert row.deviation_ns == pytest.approx(error * stats.t.ppf(0.975, 5) / stats.norm.ppf(0.975))
    assert test.pvalue > 0.05 and result.findings() == []


def test_diff_of_several_runs_ignores_variation_between_runs(recorded):
    # A thousand equal calls scatter little; the runs do.
    lengths = [1, 2, 1, 2]
    runs = [recorded(f=[length * MS // 10] * 1000) for length in lengths]
    assert diff(runs[0], runs[1]).findings() != []
    assert diff_of_runs(runs[:2], runs[2:]).findings() == []
    assert diff_of_runs([runs[0], runs[2]], [runs[1], runs[3]]).findings() != []


def test_diff_of_runs_of_different_levels_is_refused(recorded, new_run):
    with pytest.raises(ClewError, match="only graphs of one level"):
        run = new_run()
        run.process().thread().enter("store:main", at=0)
        diff_of_runs([recorded(f=[MS])], [recorded(f=[MS]), aggregate(run.graph(), "module")])


@pytest.fixture
def taking_turns(new_run):
    """Return a function that records two threads that write in turn; the second waits while the first holds a lock, or
    until it sends a result."""

    def record(waits, *, result=False):
        run = new_run()
        process = run.process()
        first, second = process.thread("first"), process.thread("second")
        now = 0
        for turn, wait in enumerate(waits):
            first.enter("store:write", at=now)
            second.enter("store:read", at=now + 10)
            if result:
                first.send(turn, "queue", at=now + 10 + wait)
                second.join(turn, "queue", at=now + 20 + wait)
            else:
                first.release(turn, at=now + 10 + wait)
                second.acquire(turn, at=now + 20 + wait)
            now += MS + wait
            first.exit("store:write", at=now)
            second.exit("store:read", at=now)
        return aggregate(run.graph(), "function")

    return record


def test_diff_wait_for_a_lock_that_ended_is_told(taking_turns):
    """The program is faster, although no function works less: it no longer waits for a lock."""
    result = diff(taking_turns([9 * MS] * 30), taking_turns([20] * 30))
    (row,) = result.wait_findings()
    assert (row.label, row.waits_before_ns) == ("store:read", pytest.approx(270 * MS, rel=1e-3))
    assert result.sentence().endswith("store:read waits less: 270 ms -> 900 ns in all, over 30 calls")
    back = diff(taking_turns([20] * 30), taking_turns([9 * MS] * 30))
    assert "store:read waits longer: 900 ns -> 270 ms in all" in back.sentence()


def test_diff_wait_for_a_result_is_not_told_beside_its_cause(taking_turns):
    result = diff(taking_turns([MS] * 30, result=True), taking_turns([9 * MS] * 30, result=True))
    assert result.wait_findings() == []
    assert result.sentence().startswith("store:write got 5x slower")


def test_diff_waits_of_noise_have_no_finding(taking_turns):
    # One long wait; and waits that grew by less than their scatter.
    assert diff(taking_turns([20] * 30), taking_turns([20] * 29 + [80 * MS])).wait_findings() == []
    assert diff(taking_turns([9 * MS, 2 * MS] * 15), taking_turns([9 * MS, 4 * MS] * 15)).wait_findings() == []


def test_diff_of_single_runs_ignores_a_slow_stretch(recorded):
    """One stretch of the run after was slow, as if others used the processor: calls in a row are not independent."""
    even, uneven = [MS] * 400, [MS] * 340 + [3 * MS] * 60
    assert diff(recorded(f=even), recorded(f=uneven)).findings() == []
    mixed = [3 * MS if number % 7 == 0 else MS for number in range(400)]
    assert [row.label for row in diff(recorded(f=even), recorded(f=mixed)).findings()] == ["store:f"]


def test_one_more_call_of_each_caller_is_found_beside_a_slower_machine(new_run):
    def record(checks, check_ns):
        run, now = new_run(), 0
        thread = run.process().thread()
        for number in range(20):
            thread.enter("app:handle", at=now)
            for _ in range(checks):
                thread.enter("app:check", at=now)
                # Calls that scatter by half, as on a busy machine.
                now += check_ns * (1 + number % 2) // 2
                thread.exit("app:check", at=now)
            now += MS
            thread.exit("app:handle", at=now)
        return aggregate(run.graph(), "function")

    found = diff(record(1, 4 * MS), record(2, 3 * MS))
    assert found.findings()[0].label == "app:check"
    assert found.sentence().startswith(
        "app:check was called more often: 1 -> 2 calls by each app:handle, 20 calls before and 40 after of"
    )
    fewer = diff(record(2, 3 * MS), record(1, 4 * MS)).sentence()
    assert fewer.startswith("app:check was called less often: 2 -> 1 calls by each app:handle")
