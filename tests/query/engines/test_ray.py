"""A real Ray cluster on this machine gives the same answers, also when an actor is killed during a slice."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.query.engines.partial_slice import SliceOptions
from clew.records.errors import ClewError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def cluster():
    ray = pytest.importorskip("ray")
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False,
        configure_logging=False,
    )  # fmt: skip
    yield ray
    ray.shutdown()


def wait_for_end(pid):
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.01)


def test_ray_answers_equal_whole_run_after_loss_of_actors(twice, cluster):
    both = twice(7, steps=400)
    run = clew.open(both.where, engine="ray")
    for direction in ("forward", "backward"):
        for limits in both.limits():
            roots = both.roots()
            whole = both.whole.slice(*roots, direction=direction, **limits)
            parts = run.slice(*roots, direction=direction, **limits)
            assert parts.result.events().tolist() == whole.result.events().tolist()
            assert parts.aggregate("process").nodes == whole.aggregate("process").nodes
            assert parts.aggregate("function").edges == whole.aggregate("function").edges
    logs = both.whole.events.where(kind="log").select("id", "text")
    assert list(run.events.where(kind="log").select("id", "text")) == list(logs)

    # The slice crosses several parts; every actor is killed once while it is computed.
    engine = run.engine
    pool, answer, killed = engine.coordinator.pool, engine.coordinator.pool.next, []
    processes = engine.everywhere("pid")

    def next_after_a_kill(seconds=None):
        if len(killed) < pool.parts:
            killed.append(len(killed))
            pool.kill(killed[-1])
            wait_for_end(processes[killed[-1]])  # Ray kills later: by then the slice may be over
        return answer(seconds)

    root = max(range(0, 200, 5), key=lambda row: len(both.whole.slice(row, direction="forward").result.touched))
    ids = np.array([root])
    starts = engine.coordinator.ask({int(engine.parts_of(ids)[0]): (ids, "forward", False, False)}, "initial_mail")
    session = engine.coordinator.begin(SliceOptions(True))
    pool.next = next_after_a_kill
    engine.coordinator.slice(session, {part: mail for part, (mail, _) in starts.items()})
    events = np.sort(engine.chosen(session.number, ())[0])
    pool.next = answer
    assert events.tolist() == both.whole.slice(root, direction="forward").result.events().tolist()
    assert len(killed) == pool.parts
    assert session.traffic.lost >= pool.parts
    assert set(processes.values()).isdisjoint(pid for part, pid in engine.everywhere("pid").items() if part in killed)
    run.close()


def test_ray_actor_names_damaged_part(twice, cluster):
    both = twice(9)
    (both.where / "part-0000" / "rank.npy").write_bytes(b"")
    with pytest.raises(ClewError, match="part-0000/rank.npy: damaged"):
        clew.open(both.where, engine="ray")


def test_ray_not_installed_raises_install_advice(twice, monkeypatch):
    both = twice(8)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ClewError, match=r"Ray is not installed; `pip install 'clew\[cluster\]'`"):
        clew.open(both.where, engine="ray")
