"""Golden texts of the events that each kind of rule records of a small program.

`CLEW_UPDATE_GOLDEN=1 pytest tests/esl/test_recorded_events.py` rewrites the texts; read the difference before you commit it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clew.esl import compile_text
from clew.esl.syntax.keywords import CLAUSES, EVENTS
from clew.graph.build.builder import build
from clew.records.format.event import EdgeKind, Kind
from tests.support.golden import compare
from tests.support.specs.recorded_specs import record, run_of, written

FOLDER = Path(__file__).parents[1] / "golden" / "recorded"
NAMES = sorted(path.stem for path in FOLDER.glob("*.esl"))


@pytest.mark.parametrize("recorder", ["c"])
@pytest.mark.parametrize("name", NAMES)
def test_golden_spec_records_the_golden_events(name: str, recorder: str, tmp_path: Path) -> None:
    program = FOLDER / f"{name}.py"
    found = record(program, program.with_suffix(".esl").read_text("utf-8"), tmp_path)
    compare(FOLDER / f"{name}.txt", written(found))


def test_golden_specs_cover_every_kind_of_rule() -> None:
    texts = [(FOLDER / f"{name}.esl").read_text("utf-8") for name in NAMES]
    plans = [compile_text(text, workspace="/").require() for text in texts]
    actions = [action for plan in plans for rule in plan.rules for action in rule.actions]
    assert {action.kind for action in actions} == {*CLAUSES, "entity", "take", "untake", "hold", "give"} - {"resource"}
    assert {action.event for action in actions} - {""} == set(EVENTS)
    assert {len(action.values) for action in actions if action.event == "position"} == {1, 2}
    words = {word for text in texts for word in re.findall(r"[a-z]+", text)}
    assert words >= {"each", "start", "finish", "watch", "unique", "by", "contains", "on", "extended", "most", "unsafe"}
    assert words >= {"scope", "except", "async", "decorated", "subclasses", "level"}
    assert words >= {"redact", "matching", "parameter", "logs", "limit", "when"}


def test_handle_rule_opens_a_scope_and_release_leads_to_acquire(tmp_path: Path) -> None:
    program = FOLDER / "causes.py"
    graph, _ = build(run_of(program, program.with_suffix(".esl").read_text("utf-8"), tmp_path))

    def rows(kind: Kind) -> list[int]:
        return [int(row) for row in graph.rows_of([kind])]

    def label(row: int) -> str:
        return graph.sites[int(graph.site[row])].qualname

    first, second = rows(Kind.SCOPE_BEGIN)
    entered, before, after = (int(graph.region[row]) for row in (first - 1, first - 2, first + 2))
    inside = [int(graph.region[row]) for row in (first, second)]
    assert entered == inside[0] != inside[1] and before == after not in inside
    sources = dict(zip(graph.edge_dst.tolist(), graph.edge_src.tolist(), strict=True))
    assert graph.text(sources[first]) == "1" and label(sources[first]) == "Mailbox.post"
    assert second not in sources  # message 3 was not sent
    acquired = rows(Kind.ACQUIRE)
    assert [sources.get(row) for row in acquired] == [None, *rows(Kind.RELEASE)]
    assert set(graph.edge_kind[graph.edge_dst == acquired[1]].tolist()) == {EdgeKind.SYNC}


def test_name_rule_renames_the_request_around_the_call(tmp_path: Path) -> None:
    program = FOLDER / "causes.py"
    graph, _ = build(run_of(program, program.with_suffix(".esl").read_text("utf-8"), tmp_path))
    # A call inside a request is part of it: the second call of `serve` names the request of `main`.
    names = [graph.channel(row) for row in graph.rows_of([Kind.REQUEST]).tolist()]
    assert names == ["PUT /chunks/{id}", "GET /chunks/{id}"]


def test_redacted_value_is_in_no_file_of_the_run(tmp_path: Path) -> None:
    program = FOLDER / "redacted.py"
    record(
        program, program.with_suffix(".esl").read_text("utf-8"), tmp_path, "--api-token", "t0ps3cret", "token=t0ps3cret"
    )
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*.clew*") if path.is_file())
    assert b"redacted" in stored and b"login of ann" in stored
    assert b"t0ps3cret" not in stored and b"hunter2" not in stored
    assert b"1234-5678" not in stored and b"1111-2222" not in stored


def test_recorded_event_has_the_value_that_its_parameter_is_set_to(tmp_path: Path) -> None:
    program = FOLDER / "values.py"
    spec = program.with_suffix(".esl").read_text("utf-8")
    found = written(record(program, spec, tmp_path, settings={"most": "4", "text": "levels"}))
    assert "PAYLOAD levels ['a', 'b']" in found
    assert found.count("PAYLOAD tick") == 4 and "GAP tick tick payloads 2" in found.replace("2 over", "2")
