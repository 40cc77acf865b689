"""A rate admits up to N records per period, and marks the begin and end of each gap with the number of missing records."""

from __future__ import annotations

import pytest

from clew.instrument.probes.actions import rate_limit
from clew.instrument.probes.actions.rate_limit import Rate
from clew.instrument.recorder.core import core
from clew.records.format.event import FLAG_OVER, Kind


class World:
    """A fake recorder with a fake clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ns, self.recording, self.flow = 0, 1, 0
        self.marks: list[tuple[int, int, bool]] = []
        monkeypatch.setattr(rate_limit, "now", lambda: self.ns)
        monkeypatch.setattr(core, "uid", lambda: self.recording)
        monkeypatch.setattr(core, "flow", lambda: self.flow)
        monkeypatch.setattr(core, "emit", self.emit)

    def emit(self, kind: int, site: int, key: int, channel: int, text: bytes, flags: int = 0) -> None:
        assert kind == Kind.GAP and b"at most 2/s" in text
        self.marks.append((site, key, bool(flags & FLAG_OVER)))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_rate_leaves_out_excess_until_its_period_is_over(world: World) -> None:
    rate = Rate(2, 1, 0, "payloads")
    assert [rate.admits(1) for _ in range(5)] == [True, True, False, False, False]
    assert world.marks == [(1, 0, False)]
    world.ns = 999_999_999
    assert not rate.admits(1)
    world.ns = 1_000_000_000
    assert [rate.admits(1) for _ in range(3)] == [True, True, False]
    assert world.marks == [(1, 0, False), (1, 4, True), (1, 0, False)]


def test_rate_is_shared_by_functions_and_each_has_its_own_gap(world: World) -> None:
    rate = Rate(2, 1, 0, "payloads")
    assert [rate.admits(site) for site in (1, 2, 3, 1, 3, 3)] == [True, True, False, False, False, False]
    rate.mark_ends()
    assert world.marks == [(3, 0, False), (1, 0, False), (3, 3, True), (1, 1, True)]
    rate.mark_ends()
    assert len(world.marks) == 4


def test_rate_in_next_recording_has_no_gap_of_the_earlier_one(world: World) -> None:
    rate = Rate(2, 1, 0, "payloads")
    assert [rate.admits(1) for _ in range(3)] == [True, True, False]
    world.recording = 2  # a forked child
    rate.mark_ends()
    assert [rate.admits(1) for _ in range(3)] == [True, True, False]
    assert world.marks == [(1, 0, False), (1, 0, False)]


def test_rate_does_not_count_records_of_unsampled_flows(world: World) -> None:
    rate = Rate(2, 1, 0, "payloads")
    world.flow = 2
    assert all(rate.admits(1) for _ in range(9))
    world.flow = 1
    assert [rate.admits(1) for _ in range(3)] == [True, True, False]
