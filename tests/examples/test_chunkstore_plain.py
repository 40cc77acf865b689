"""The stories of the chunk store, untraced, do what they claim."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "chunkstore"
LARGEST_BATCH = 32


def run(story: str, data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "chunkstore.scenario", story, "--data", str(data), *options]
    return subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, timeout=120)


def tell(story: str, data: Path) -> dict[str, Any]:
    done = run(story, data)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert_no_process_is_left(data)
    summary: dict[str, Any] = json.loads((data / "summary.json").read_text())
    return summary


def assert_no_process_is_left(data: Path) -> None:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("needs /proc to list processes")
    left = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it ended between the listing and the reading
        if "chunkstore" in command and any(argument.startswith(str(data)) for argument in command):
            left.append(" ".join(command))
    assert left == []


def lines_with(level: str, data: Path) -> dict[str, list[str]]:
    """Return the lines of a level by log, without logs that have none."""
    found = {log.stem: re.findall(rf"^.* {level} .*$", log.read_text(), re.M) for log in data.glob("*.log")}
    return {name: lines for name, lines in found.items() if lines}


@pytest.fixture(scope="module")
def failed_write(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    data = tmp_path_factory.mktemp("failed-write")
    return data, tell("failed-write", data)


@pytest.fixture(scope="module")
def slow_job(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    data = tmp_path_factory.mktemp("slow-job")
    return data, tell("slow-job", data)


def test_failed_write_story_logs_one_error_in_the_primary(
    failed_write: tuple[Path, dict[str, Any]],
) -> None:
    data, summary = failed_write
    errors = lines_with("ERROR", data)
    assert list(errors) == ["c1"]
    assert len(errors["c1"]) == 1
    assert errors["c1"][0].endswith(f"Write request failed: chunk {summary['chunk']} is marked as deleted")


def test_failed_write_story_deletes_only_on_servers_online(failed_write: tuple[Path, dict[str, Any]]) -> None:
    data, summary = failed_write
    deleted = f"chunk {summary['chunk']} is now marked as deleted"
    assert [name for name in ("c1", "c2", "c3") if deleted in (data / f"{name}.log").read_text()] == ["c1", "c2"]
    assert summary["told"] == ["c1", "c2"]
    assert not (data / "c1" / "chunks" / summary["chunk"]).exists()
    assert (data / "c3" / "chunks" / summary["chunk"]).exists()


def test_failed_write_story_restarted_server_asks_its_neighbour(
    failed_write: tuple[Path, dict[str, Any]],
) -> None:
    data, summary = failed_write
    asked, refused = (line for line in lines_with("WARNING", data)["c3"] if summary["chunk"] in line)
    assert asked.endswith(f"replication log replay found incomplete chunk {summary['chunk']}, asking c2 for it")
    assert refused.endswith(f"chunk {summary['chunk']} stays incomplete: chunk {summary['chunk']} is marked as deleted")


def test_failed_write_story_serves_other_clients_meanwhile(failed_write: tuple[Path, dict[str, Any]]) -> None:
    data, summary = failed_write
    log = (data / "c1.log").read_text()
    assert summary["acknowledged"] > 0
    assert "persisted a batch" in log.split("c3 misses batches")[1].split("ERROR")[0]


def test_failed_write_story_replicas_have_equal_chunks(failed_write: tuple[Path, dict[str, Any]]) -> None:
    data, summary = failed_write
    chunks = [{path.name: path.read_text() for path in (data / name / "chunks").iterdir()} for name in ("c1", "c2")]
    assert chunks[0] == chunks[1]
    assert len(chunks[0]) >= summary["acknowledged"]


def test_failed_write_story_batches_writes_of_several_clients(failed_write: tuple[Path, dict[str, Any]]) -> None:
    data, _ = failed_write
    batches = re.findall(r"persisted a batch of \d+: (.*)", (data / "c1.log").read_text())
    assert any(len({request.split(":")[0] for request in batch.split(", ")}) > 1 for batch in batches)


def test_slow_job_story_has_the_same_results_in_both_variants(slow_job: tuple[Path, dict[str, Any]]) -> None:
    before, after = (slow_job[1][variant] for variant in ("before", "after"))
    assert before["digests"] == after["digests"]
    assert len(set(before["digests"].values())) == 3
    for server in ("c1", "c2", "c3"):
        assert before["servers"][server]["lookups"] == after["servers"][server]["lookups"]


def test_slow_job_story_has_slower_lookups_on_every_server(slow_job: tuple[Path, dict[str, Any]]) -> None:
    before, after = (slow_job[1][variant] for variant in ("before", "after"))
    for server in ("c1", "c2", "c3"):
        assert after["servers"][server]["lookup_ns"] > 10 * before["servers"][server]["lookup_ns"]


def test_slow_job_story_batches_its_writes(slow_job: tuple[Path, dict[str, Any]]) -> None:
    log = (slow_job[0] / "before" / "c1.log").read_text()
    sizes = [int(size) for size in re.findall(r"persisted a batch of (\d+)", log)]
    assert sum(sizes) == 3 * 40 * 5
    assert len(sizes) < sum(sizes) / 1.5


def test_kill_primary_story_count_agrees_with_its_log(tmp_path: Path) -> None:
    summary = tell("kill-primary", tmp_path)
    count = (tmp_path / "c1.count").read_bytes()
    assert len(count) == 8
    assert int.from_bytes(count, "little") == summary["lookups"]
    log = (tmp_path / "c1.log").read_text()
    logged = sum(int(size) for size in re.findall(r"persisted a batch of (\d+)", log))
    assert 500 <= logged + LARGEST_BATCH
    assert logged <= summary["lookups"] <= logged + LARGEST_BATCH
    assert summary["lookups"] >= 5 * summary["acknowledged"]
    assert "going offline" not in log


def test_slow_job_story_with_one_variant_runs_it_alone(tmp_path: Path) -> None:
    done = run("slow-job", tmp_path, "--variant", "before")
    assert done.returncode == 0, done.stderr
    assert list(json.loads((tmp_path / "summary.json").read_text())) == ["before"]
    assert done.stdout.startswith("before: 120 files written and read in ")


def test_scenario_in_used_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.log").touch()
    done = run("failed-write", tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"chunkstore: {tmp_path} holds an earlier run: give a new directory\n"


def test_scenario_with_failing_server_names_it_and_stops_the_others(tmp_path: Path) -> None:
    (tmp_path / "c2").touch()
    done = run("failed-write", tmp_path)
    assert done.returncode == 1
    assert f"chunkstore: c2 ended with status 1 before it was online; see {tmp_path}/c2.log" in done.stderr
    assert_no_process_is_left(tmp_path)
