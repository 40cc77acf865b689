"""The examples of docs/esl.md, combined, record the chunk store without a failed expression."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clew.instrument.startup
from clew.esl import compile_text
from clew.instrument.probes.actions import resources
from clew.instrument.probes.actions.compile import _KINDS
from clew.records.format.event import FLAG_FAILED, Kind
from clew.records.plan import plan as plans
from clew.records.plan.plan import Plan, Redact
from clew.records.read.reader import RunRecords, read_run
from clew.records.run.directory import RUN_VARIABLE, create_run

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "chunkstore"
TEXTS = re.findall(r"^```esl\n(.*?)^```$", (ROOT / "docs/esl.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
STARTUP = Path(clew.instrument.startup.__file__).parent


def together(found: list[Plan]) -> Plan:
    """Join the plans into one, without a sample, which would leave out most events."""
    redacts = [plan.redact for plan in found if plan.redact is not None]
    return Plan(
        rules=tuple(rule for plan in found for rule in plan.rules),
        adapters=tuple(dict.fromkeys(name for plan in found for name in plan.adapters)),
        logs=next(plan.logs for plan in found if plan.logs is not None),
        levels=tuple(level for plan in found for level in plan.levels),
        entities=tuple(kind for plan in found for kind in plan.entities),
        redact=Redact(*(tuple(text for each in redacts for text in each[field]) for field in (0, 1))),
    )


@pytest.fixture(scope="module")
def examples() -> list[Plan]:
    return [compile_text(text, f"example-{number}.esl", EXAMPLE).require() for number, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def run(examples: list[Plan], tmp_path_factory: pytest.TempPathFactory) -> RunRecords:
    folder = tmp_path_factory.mktemp("documented")
    plan = plans.dump(together(examples))
    run, _ = create_run(folder, name="documented", command=["chunkstore"], spec="", plan=plan)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW", "PYTHON"))}
    environment |= {RUN_VARIABLE: str(run), "PYTHONPATH": f"{STARTUP}{os.pathsep}{EXAMPLE}"}
    command = [sys.executable, "-m", "chunkstore.scenario", "failed-write", "--data", str(folder / "data")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return read_run(run)


def test_documented_specs_record_events_of_every_action(examples: list[Plan], run: RunRecords) -> None:
    recorded: set[tuple[Kind, str]] = set()
    failed: set[tuple[Kind, str, str]] = set()
    for process in run.processes:
        for serial in process.threads:
            for event in process.events(serial):
                if event.extension is not None:
                    channel = process.strings.get(event.extension.channel, "")
                    recorded.add((Kind(event.kind), channel))
                    if event.extension.flags & FLAG_FAILED:
                        failed.add((Kind(event.kind), channel, event.extension.text))
    assert failed == set()
    actions = [
        action
        for plan in examples
        for rule in plan.rules
        for action in rule.actions
        if rule.target.module.startswith("chunkstore") and not (action.kind in ("request", "name") and action.key)
    ]
    wanted = {(_KINDS[action.kind], action.channel) for action in actions if action.kind not in resources.KINDS}
    # Nobody waits for a resource without a capacity.
    pools = {resources.PREFIX + action.channel for action in actions if action.kind in resources.KINDS}
    wanted |= {(kind, pool) for pool in pools for kind in (Kind.HOLD, Kind.RETURN)}
    assert len(wanted) > 20
    assert wanted - recorded == set()
    assert {(Kind.REQUEST, name) for name in ("meta allocate", "c2 write", "c2 replicate")} <= recorded


def test_documented_specs_leave_no_note_of_unrecorded_functions(run: RunRecords) -> None:
    notes = {note.text for process in run.processes for note in process.notes}
    assert [note for note in notes if "not recorded" in note] == []
