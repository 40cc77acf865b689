"""What the diagnoses found in a large run is read from its store when the run is opened again."""

from __future__ import annotations

import pytest

from clew.graph.ops.diagnoses import registry
from clew.graph.ops.facts.facts import Facts
from clew.graph.store import findings_cache
from clew.graph.store.store import open_graph
from tests.support.diagnoses.makers.item_not_returned import Pool


@pytest.fixture
def folder(run, monkeypatch):
    monkeypatch.setattr(registry, "WORTH_KEEPING", 1)
    Pool(run.process(), 1).use("web-1").use("web-2").take("web-1").wait().give("web-1")
    made = run.write()
    open_graph(made)
    return made


def found(folder):
    return registry.findings(Facts.of(open_graph(folder)[0]))


def test_findings_are_the_same_from_the_store_and_are_found_once(folder, monkeypatch):
    first = found(folder)
    assert len(first) == 1
    monkeypatch.setattr(registry, "DIAGNOSES", ())
    assert found(folder) == first


def test_findings_are_found_again_when_the_file_is_damaged_or_the_code_or_the_end_changes(folder, monkeypatch):
    first = found(folder)
    kept = folder / "store" / findings_cache.FILE
    monkeypatch.setattr(registry, "DIAGNOSES", ())
    data = kept.read_bytes()
    kept.write_bytes(data[:-3])
    assert found(folder) == []
    kept.write_bytes(data)
    monkeypatch.setattr(findings_cache, "_code", lambda: [["new.py", 1, 1]])
    assert found(folder) == []
    monkeypatch.undo()
    monkeypatch.setattr(registry, "WORTH_KEEPING", 1)
    assert found(folder) == first
    facts = Facts.of(open_graph(folder)[0])
    facts.observe_until(10**12)
    monkeypatch.setattr(registry, "DIAGNOSES", ())
    assert registry.findings(facts) == []


def test_findings_of_a_run_that_is_not_finished_are_not_kept(folder):
    graph = open_graph(folder)[0]
    object.__setattr__(graph, "info", graph.info._replace(finished=None))
    assert len(registry.findings(Facts.of(graph))) == 1
    assert not (folder / "store" / findings_cache.FILE).exists()
