"""The clock map converts ticks to time by all pairs of a run, and a bad pair does not distort it."""

import itertools

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clew.records.read.clock_map import fit
from clew.records.read.process_records import Header, ProcessRecords
from clew.records.read.reader import RunRecords
from clew.records.run.directory import RunInfo
from tests.support.examples import examples

RATE = 0.4137
BASE = 7_000_000_000_000


def pair(ns, error=0):
    return BASE + round(ns / RATE), 5_000_000 + ns + error


def error_at(found, ns):
    return abs(found.monotonic_ns(pair(ns)[0]) - pair(ns)[1])


SECOND = 1_000_000_000


def test_clock_fit_of_two_distant_pairs_is_a_line():
    found = fit([pair(10 * SECOND), pair(0)])
    assert found.known
    for ns in (-SECOND, 0, 5 * SECOND, 20 * SECOND):
        assert error_at(found, ns) <= 2


def test_clock_fit_of_close_pairs_has_a_plausible_rate():
    found = fit([pair(0), pair(10 * SECOND), pair(10 * SECOND + 300, 150), pair(10 * SECOND + 900, -200)])
    for ns in (0, 5 * SECOND, 10 * SECOND, 100 * SECOND):
        assert error_at(found, ns) <= 3000


def test_clock_fit_follows_a_slewed_clock():
    slew = 1.0003
    pairs = [
        (BASE + round(ns / RATE), round(ns * (1 if ns < 50 * SECOND else slew)) + 1)
        for ns in range(0, 100 * SECOND, SECOND)
    ]
    found = fit(pairs)
    assert max(abs(found.monotonic_ns(ticks) - ns) for ticks, ns in pairs) <= 1


def test_clock_fit_of_one_pair_is_unknown():
    assert not fit([pair(0)]).known
    assert not fit([]).known
    assert not fit([pair(0), pair(0)]).known
    assert fit([pair(7)]).monotonic_ns(pair(7)[0]) == pair(7)[1]


@given(
    st.lists(st.tuples(st.integers(6, 40), st.integers(1, 50_000)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(1, 2**64 - 1), st.integers(1, 2**64 - 1)), max_size=2),
)
@settings(max_examples=examples(100), deadline=None)
def test_clock_fit_leaves_out_time_of_suspended_machine(stretches, damaged):
    """Alternate pairs with suspensions of some seconds, in which the counter advances and the clock does not."""
    pairs, ns, suspended = [], 0, 0
    for count, seconds in stretches:
        for _ in range(count):
            ns += SECOND // 3
            pairs.append((BASE + round((ns + suspended) / RATE), ns))
        suspended += seconds * SECOND
        ns += 1000
    found = fit(pairs + damaged)
    assert found.known
    for ticks, ns in pairs:
        assert abs(found.monotonic_ns(ticks) - ns) <= 10_000


def test_clock_fit_ignores_incomplete_pairs():
    found = fit([pair(0), (BASE * 2, 0), (0, 77), pair(SECOND)])
    assert error_at(found, SECOND // 2) <= 2


def test_clock_fit_of_process_of_one_millisecond_is_exact():
    found = fit([pair(0, 40), pair(90_000, -40), pair(1_000_000, 20)])
    assert found.known
    for ns in range(0, 1_000_000, 50_000):
        assert error_at(found, ns) <= 300


def test_clock_fit_ignores_damaged_pair_near_the_line():
    times = [ns * SECOND for ns in range(0, 120, 10)]
    beside = (pair(10 * SECOND + 600_000)[0], pair(10 * SECOND - 4_400_000)[1])
    long_before = [(BASE - round(SECOND / RATE), ns) for ns in (1, 9000)]
    found = fit([pair(ns) for ns in times] + [beside] + long_before)
    for ns in times:
        assert error_at(found, ns) <= 2


def agree(one, other):
    ticks, ns = other[0] - one[0], other[1] - one[1]
    return abs(ticks * RATE - ns) <= 2_000_000 + 0.002 * abs(ns)


@given(
    st.lists(st.integers(0, SECOND), min_size=12, max_size=60),
    st.lists(st.tuples(st.integers(1, 2**64 - 1), st.integers(1, 2**64 - 1)), max_size=3),
    st.randoms(use_true_random=False),
)
@settings(max_examples=examples(60), deadline=None)
def test_clock_fit_with_damaged_pairs_stays_exact(times, damaged, generator):
    # Two damaged pairs that agree with each other would look like a suspended machine.
    assume(not any(agree(*two) for two in itertools.combinations(damaged, 2)))
    times = [number * 10 * SECOND + jitter for number, jitter in enumerate(times)]
    pairs = [pair(ns, generator.randint(-100, 100)) for ns in times] + damaged
    generator.shuffle(pairs)
    found = fit(pairs)
    assert found.known
    for ns in times:
        assert error_at(found, ns) <= 2_000_000 + 0.002 * (max(times) - min(times))


@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), max_size=40),
    st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=30),
)
@settings(max_examples=examples(200), deadline=None)
def test_clock_fit_of_any_pairs_is_monotone(pairs, ticks):
    found = fit(pairs)
    converted = [found.monotonic_ns(tick) for tick in sorted(ticks)]
    assert converted == sorted(converted)


def process(pid, pairs, clock=1, boot="b", host="h"):
    found = ProcessRecords(f"{pid}", Header(1, pid, clock=clock))
    found.info.update(boot_id=boot, host=host)
    found.pairs.extend(pairs)
    return found


def run_of(*processes):
    return RunRecords("folder", RunInfo("id", "n", [], "/", "/", "", 0, host="h"), list(processes), [])


def test_clock_map_is_shared_by_processes_of_one_boot():
    short, long = process(1, [pair(5 * SECOND)]), process(2, [pair(0), pair(10 * SECOND)])
    found = run_of(short, long)
    assert found.clock(short) is found.clock(long)
    assert error_at(found.clock(short), 7 * SECOND) <= 2


def test_clock_map_ignores_pairs_of_another_boot():
    alone, elsewhere = process(1, [pair(SECOND)]), process(2, [pair(0), pair(9 * SECOND)], boot="other")
    found = run_of(alone, elsewhere)
    assert found.clock(elsewhere).known and not found.clock(alone).known


def test_clock_map_of_nanosecond_ticks_needs_no_pairs():
    twin = process(1, [], clock=2)
    assert run_of(twin).clock(twin).monotonic_ns(123456789) == 123456789


def test_clock_map_of_a_real_recording_agrees_with_its_pairs(tmp_path):
    from clew.instrument.recorder import _core
    from clew.records.read.reader import read_process

    path = tmp_path / "x.clew"
    _core.start(str(path), b"{}", 0, 1 << 30, 0.0)
    probe = _core.Probe(1, 1)
    for _ in range(200_000):
        ~probe
    _core.stop()
    found = read_process(path)
    clock = run_of(found).clock(found)
    assert clock.known
    assert all(abs(clock.monotonic_ns(ticks) - ns) < 1_000_000 for ticks, ns in found.pairs)
    ends = [clock.monotonic_ns(event.ticks) for event in found.events()]
    assert ends == sorted(ends)
    assert found.header.start_monotonic_ns <= ends[0] + 1000
    assert ends[-1] <= found.header.last_monotonic_ns + 1000
