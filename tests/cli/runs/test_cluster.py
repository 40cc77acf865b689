"""`clew cluster`: partitioned runs from the command line."""

from __future__ import annotations

import json

import pytest

from clew.cli.main import main
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run


@pytest.fixture
def clew(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["clew", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def test_cluster_partitions_checks_and_answers(clew, tmp_path):
    events = []
    for process in (1, 2):
        events += [
            {"name": "work", "ph": "X", "ts": 10 * process, "dur": 50, "pid": process, "tid": 1},
            {"name": "message", "ph": "s" if process == 1 else "f", "bp": "e", "id": 1, "ts": 11 * process, "pid": process,
             "tid": 1, "cat": "flow"},
        ]  # fmt: skip
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    code, out, err = clew("cluster", "partition", "trace.json", "-o", "parts", "--parts", "2")
    assert (code, "in 2 parts" in out) == (0, True), err
    assert clew("cluster", "partition", "trace.json", "-o", "parts")[0] == 2
    code, out, _ = clew("cluster", "check", "parts", "--json")
    assert code == 0
    assert sum(part["outgoing"] for part in json.loads(out)["parts"]) == 1
    code, out, _ = clew("cluster", "slice", "parts", "0", "--forward", "--json")
    assert code == 0
    assert json.loads(out)["parts"] == 2
    code, out, _ = clew("cluster", "slice", "parts", "0", "--forward", "--max-hops", "0")
    assert code == 0
    assert " · 1 part · " in out
    assert (
        "in 2 parts (not 9: processes are never split), "
        in clew("cluster", "partition", "trace.json", "-o", "p", "--parts", "9")[1]
    )
    assert "clew cluster partition RUN -o FOLDER" in clew("cluster", "check", ".")[2]
    code, out, _ = clew("cluster", "aggregate", "parts", "--level", "process")
    assert code == 0
    (tmp_path / "parts" / "part-0001" / "rank.npy").unlink()
    code, _, err = clew("cluster", "check", "parts")
    assert code == 2
    assert "part-0001/rank.npy: missing; copy the part again, or partition the run again" in err


def test_cluster_without_a_partitioned_run_says_how_to_make_one(clew, tmp_path):
    create_run(tmp_path, name="run", command=["x"], spec="", plan=dump(Plan()), cwd=tmp_path)
    code, _, err = clew("cluster", "slice", "nowhere", "1")
    assert code == 2
    assert "not a partitioned run" in err
    assert "clew cluster partition RUN -o nowhere" in err
