"""The chunk store recorded by its spec: its failed write is explained, and its slow function is named."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clew
from clew.records.format.event import Kind
from clew.records.format.header import State
from clew.records.read.reader import read_run
from clew.records.run.directory import trace_files

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "chunkstore"


def run_clew(*arguments: str, cwd: Path = EXAMPLE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clew", *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )


def record(workspace: Path, name: str, story: str, *options: str, spec: str = "chunkstore.esl") -> Path:
    """Record a story and return its data folder."""
    data = workspace / f"data-{name}"
    done = run_clew(
        "run", "--workspace", str(workspace), "--spec", spec, "--name", name, "--",
        sys.executable, "-m", "chunkstore.scenario", story, "--data", str(data), *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return data


def ask(workspace: Path, *arguments: str) -> dict:
    done = run_clew(*arguments, "--workspace", str(workspace), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def failed_write(tmp_path_factory) -> tuple[Path, Path]:
    workspace = tmp_path_factory.mktemp("failed-write")
    return workspace, record(workspace, "failed-write", "failed-write")


@pytest.fixture(scope="module")
def slow_job(tmp_path_factory) -> Path:
    workspace = tmp_path_factory.mktemp("slow-job")
    for variant in ("before", "after"):
        record(workspace, variant, "slow-job", "--variant", variant)
    return workspace


def test_chunkstore_spec_is_under_25_lines():
    assert len((EXAMPLE / "chunkstore.esl").read_text().splitlines()) < 25


def test_chunkstore_program_does_not_mention_clew():
    for path in (EXAMPLE / "chunkstore").glob("*.py"):
        assert "clew" not in path.read_text(), path


def test_why_of_failed_write_leads_to_the_delete_of_the_client(failed_write):
    workspace, data = failed_write
    chunk = json.loads((data / "summary.json").read_text())["chunk"]
    chain = ask(workspace, "why", "Write request failed")["answers"][0]["chain"]
    assert chain[0]["title"] == f"ERROR Write request failed: chunk {chunk} is marked as deleted"
    # The dependency that the paper had to find by a text search is an edge.
    state = [step for step in chain if step["edge"] == "state"]
    assert [step["key"] for step in state] == [chunk]
    assert "mark_deleted" in state[0]["title"]
    root = chain[-1]
    assert root["process"].startswith("client ")
    assert "delete" in root["title"]
    assert (Path(root["location"]["path"]).name, root["location"]["line"]) == (
        "client.py",
        line_of("async def delete(self"),
    )


def line_of(text: str, file: str = "client.py") -> int:
    lines = (EXAMPLE / "chunkstore" / file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_why_of_failed_write_crosses_threads_queue_and_three_processes(failed_write):
    workspace, _ = failed_write
    chain = ask(workspace, "why", "Write request failed")["answers"][0]["chain"]
    assert {"executor.result", "chunk", "queue", "asyncio.handle", "message"} <= {step["channel"] for step in chain}
    assert len({step["process"] for step in chain}) == 3
    assert {"deletion"} <= {step["strand"] for step in chain}
    times = [step["timeNs"] for step in chain]
    assert times == sorted(times, reverse=True)
    for step in chain:
        assert Path(step["location"]["path"]).is_relative_to(EXAMPLE), step


def test_why_of_failed_write_prints_one_line_per_step_and_the_counts(failed_write):
    workspace, _ = failed_write
    done = run_clew("why", "Write request failed", "--steps", "1000", "--workspace", str(workspace))
    _, _, chain = done.stdout.rstrip().partition("where it ran")
    lines = chain.splitlines()
    steps = [line for line in lines if re.search(r"\bchunkstore/\w+\.py:\d+", line)]
    assert "ERROR Write request failed" in steps[0]
    assert "request delete" in steps[-1]
    assert re.match(rf"{len(steps)} steps .* events of [\d,]+ .* processes", lines[-1])


def test_query_of_failed_write_leads_to_the_same_delete(failed_write):
    """As in the paper: list the log lines among the causes, search other lines about the chunk, and continue from there."""
    workspace, data = failed_write
    chunk = json.loads((data / "summary.json").read_text())["chunk"]
    run = clew.open(None, workspace=workspace)
    past = run.events.where(level="ERROR", text__contains="Write request failed").slice("backward")
    logs = [row.text for row in past.where(kind="log").order_by("ts").select("text")]
    assert f"chunk {chunk} is marked as deleted" in logs
    marked = list(
        run.events.where(kind="log", text__contains=f"{chunk} is now marked as deleted").select("id", "process")
    )
    event = next(row.id for row in marked if "c1" in row.process)
    chain = ask(workspace, "why", "--event", str(event))["answers"][0]["chain"]
    assert "request delete" in chain[-1]["title"]
    assert [step["channel"] for step in chain].count("queue") == 1


def test_why_at_log_line_of_failed_write_equals_why_of_its_text(failed_write):
    workspace, data = failed_write
    lines = (data / "c1.log").read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "Write request failed" in line)
    at_line = ask(workspace, "why", "--at", f"{data / 'c1.log'}:{number}")["answers"][0]["chain"]
    by_text = ask(workspace, "why", "Write request failed")["answers"][0]["chain"]
    assert [step["event"] for step in at_line] == [step["event"] for step in by_text]


def test_graph_of_failed_write_batch_has_all_its_requests_as_causes(failed_write):
    """A disk write belongs to several requests: one queue item per request enters the region of its batch."""
    workspace, _ = failed_write
    graph = clew.open(None, workspace=workspace).graph
    queue = [edge for edge in range(len(graph.edge_src)) if graph.channel(graph.edge_dst[edge]) == "asyncio.queue"]
    entered: dict[int, int] = {}
    for edge in queue:
        region = int(graph.region[graph.edge_dst[edge]])
        entered[region] = entered.get(region, 0) + 1
    sizes = {
        int(graph.region[event]): int(graph.text(event)) for event in (graph.kind == Kind.PAYLOAD).nonzero()[0].tolist()
    }
    assert max(sizes.values()) > 1
    assert {region: entered.get(region) for region in sizes} == sizes


def test_diff_of_slow_job_names_the_slower_function(slow_job):
    answer = ask(slow_job, "diff", "before", "after")
    worst = answer["rows"][0]
    assert worst["label"] == "chunkstore.index:ChunkIndex.lookup"
    assert worst["perCallAfterNs"] > 5 * worst["perCallBeforeNs"]
    assert worst["callsBefore"] == worst["callsAfter"] > 1000
    assert re.match(
        r"chunkstore\.index:ChunkIndex\.lookup got [\d.]+x slower: .* per call over [\d,]+ calls, \+",
        answer["sentence"],
    )
    done = run_clew("diff", "before", "after", "--workspace", str(slow_job))
    assert done.stdout.startswith(answer["sentence"])


def test_requests_diff_of_slow_job_names_requests_and_lookups(slow_job):
    before, after = (clew.open(name, workspace=slow_job).requests for name in ("before", "after"))
    changed = before.diff(after)
    # On a busy machine the response times may not tell, but the calls do.
    assert {row.name for row in changed.slower} <= {"read", "write"}
    # Each read has the same flow, whatever ran in parallel.
    pairing = changed.pairing
    (read,) = (number for number in range(len(pairing.keys)) if pairing.name_of(number) == "read")
    assert [int(counts[read]) for counts in pairing.counts] == [before.named("read").count()] * 2
    union = changed.union(read)
    (lookup,) = (call for call in union.calls if call.label == "chunkstore.index:ChunkIndex.lookup")
    assert union.significant(lookup) and lookup.after.own_ns > 5 * lookup.before.own_ns
    assert {row.name for row in after.diff(before).faster} <= {"read", "write"}


def test_recording_of_slow_job_leaves_its_results_unchanged(slow_job):
    digests = set()
    for variant in ("before", "after"):
        summary = json.loads((slow_job / f"data-{variant}" / "summary.json").read_text())
        digests.add(json.dumps([client["digest"] for client in find(summary, "digest")]))
    assert len(digests) == 1


def find(value, name: str) -> list[dict]:
    """Return every object inside of `value` that has the field."""
    if isinstance(value, dict):
        return [value] * (name in value) + [hit for item in value.values() for hit in find(item, name)]
    return [hit for item in value for hit in find(item, name)] if isinstance(value, list) else []


@pytest.mark.parametrize("recorder", ["c"])
def test_recording_of_killed_primary_has_every_event_before_the_kill(tmp_path, recorder, monkeypatch):
    spec = tmp_path / "lookups.esl"
    spec.write_text("scope chunkstore.index:ChunkIndex.lookup;\n")
    data = record(tmp_path, "killed", "kill-primary", spec=str(spec))
    counted = int.from_bytes((data / "c1.count").read_bytes(), "little")
    assert counted > 50
    folder = next((tmp_path / ".clew/runs").iterdir())
    recorded = read_run(folder)
    killed = [process for process in recorded.processes if "c1" in process.info["argv"]]
    assert len(killed) == 1 and killed[0].header.state == State.RECORDING
    enters = sum(event.kind == Kind.ENTER for event in killed[0].events())
    # A call is recorded before it is counted: each of the two disk threads may have been killed in between.
    assert counted <= enters <= counted + 2
    run = clew.open(None, workspace=tmp_path)
    assert any("c1" in problem.what or "died" in problem.what or "killed" in problem.what for problem in run.problems)
    shown = run_clew("runs", "--workspace", str(tmp_path))
    assert shown.returncode == 0 and "killed" in shown.stdout


def test_open_run_with_truncated_files_has_events_and_problems(failed_write, tmp_path):
    workspace, _ = failed_write
    source = next((workspace / ".clew/runs").iterdir())
    target = tmp_path / ".clew/runs" / source.name
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())
    for number, path in enumerate(trace_files(target)):
        os.truncate(path, path.stat().st_size * (number % 5) // 5)
    run = clew.open(str(target))
    assert len(run.graph.ts) > 0
    assert run.problems
    assert run_clew("why", "--run", str(target), "--workspace", str(tmp_path)).returncode in (0, 1)


def test_answers_about_killed_primary_say_that_it_died(tmp_path):
    spec = tmp_path / "lookups.esl"
    spec.write_text("scope chunkstore.index:ChunkIndex.lookup;\nlogs level INFO;\n")
    record(tmp_path, "killed", "kill-primary", spec=str(spec))
    for command in (
        ("why",),
        ("path",),
        ("aggregate",),
        ("slice", "--where", "kind=log"),
        ("diff", "killed", "killed"),
    ):
        done = run_clew(*command, "--workspace", str(tmp_path))
        assert (done.returncode, "died" in done.stderr) == (0, True), (command, done.stdout, done.stderr)
