"""A real Ray on this machine: the same answers, also when an actor's process is killed in the middle of a slice."""

from __future__ import annotations

import numpy as np
import pytest

import clew
from clew.query.engines.partial_slice import Ask
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


def test_ray_gives_the_answers_of_the_whole_and_survives_the_loss_of_actors(twice, cluster):
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

    # The whole is asked for a slice that goes through several parts; every actor is killed once while it is made.
    engine = run.engine
    pool, answer, killed = engine.crew.pool, engine.crew.pool.next, []
    processes = engine.everywhere("pid")

    def next_after_a_kill(seconds=None):
        if len(killed) < pool.parts:
            killed.append(len(killed))
            pool.kill(killed[-1])
        return answer(seconds)

    root = max(range(0, 200, 5), key=lambda row: len(both.whole.slice(row, direction="forward").result.touched))
    ids = np.array([root])
    starts = engine.crew.ask({int(engine.parts_of(ids)[0]): (ids, "forward", False, False)}, "mail_of")
    session = engine.crew.begin(Ask(True))
    pool.next = next_after_a_kill
    engine.crew.slice(session, {part: mail for part, (mail, _) in starts.items()})
    events = np.sort(engine.chosen(session.number, ())[0])
    pool.next = answer
    assert events.tolist() == both.whole.slice(root, direction="forward").result.events().tolist()
    assert killed
    assert session.traffic.lost
    assert set(processes.values()).isdisjoint(pid for part, pid in engine.everywhere("pid").items() if part in killed)
    run.close()


def test_a_damaged_part_is_named_by_its_actor(twice, cluster):
    both = twice(9)
    (both.where / "part-0000" / "rank.npy").write_bytes(b"")
    with pytest.raises(ClewError, match="part-0000/rank.npy: damaged"):
        clew.open(both.where, engine="ray")


def test_without_ray_a_sentence_says_what_to_install(twice, monkeypatch):
    both = twice(8)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ClewError, match=r"Ray is not installed; `pip install 'clew\[cluster\]'`"):
        clew.open(both.where, engine="ray")
