"""`clew doctor` reports missing parts, and its exit code says whether recording works."""

import json
import resource
import sys
from types import SimpleNamespace

import pytest

from clew.cli import main
from clew.cli.diagnosis import machine, parts, trial
from clew.cli.diagnosis.finding import Finding, section
from clew.esl.packs import registry


@pytest.fixture
def report(shell):
    return lambda code=0: json.loads(shell("doctor", "--workspace", ".", "--json", code=code).stdout)


def finding(report, part, name):
    return next(found for found in report["checks"][part] if found["name"] == name)


def test_doctor_working_installation_records_and_answers(report):
    found = report()
    assert found["canRecord"] is True
    assert finding(found, "trial", "recording")["value"].startswith("works: ")
    assert finding(found, "trial", "answering")["status"] == "ok"
    assert finding(found, "trial", "event clock")["value"] in ("cycle counter", "monotonic clock")
    assert finding(found, "clew", "C recorder") == {
        "name": "C recorder", "value": "built for this interpreter", "status": "ok", "advice": ""
    }  # fmt: skip
    assert all(each["status"] != "problem" for part in found["checks"].values() for each in part)


def test_doctor_text_has_the_values_of_json(shell):
    done = shell("doctor", "--workspace", ".")
    assert done.stdout.endswith("\nclew can record here\n")
    assert f"CPython {sys.version.split()[0]}" in done.stdout
    assert [line for line in done.stdout.splitlines() if line and line[0] not in " !x"] == [
        "clew", "python", "system", "event loops", "trial", "packs", "clew can record here"
    ]  # fmt: skip


def test_doctor_recording_fails_exits_with_1_and_the_reason(shell, report, monkeypatch):
    monkeypatch.setattr("clew.cli.diagnosis.trial.PROGRAM", "import os\nos._exit(3)\n")
    found = report(code=1)
    assert found["canRecord"] is False
    assert finding(found, "trial", "recording")["status"] == "problem"
    assert shell("doctor", "--workspace", ".", code=1).stdout.endswith("\nclew cannot record here\n")


def test_doctor_panel_missing_is_a_note_with_advice(report, monkeypatch, tmp_path):
    monkeypatch.setattr(parts, "files", lambda _package: tmp_path)
    found = report()
    assert found["canRecord"] is True
    panel = finding(found, "clew", "panel")
    assert panel["status"] == "note" and "index.html" in panel["value"] and "wheel" in panel["advice"]


def test_doctor_c_recorder_missing_is_a_problem_and_doctor_still_runs(shell, monkeypatch):
    monkeypatch.setattr(parts.extensions, "RECORDING", ("clew.instrument.recorder._missing",))
    monkeypatch.setattr(main, "missing", lambda needed: "extensions are missing" if needed else "")
    shell("lsp", code=1)
    found = json.loads(shell("doctor", "--workspace", ".", "--json", code=1).stdout)
    recorder = finding(found, "clew", "C recorder")
    assert (recorder["status"], recorder["value"]) == ("problem", "missing: _missing (not built)")
    assert "compiler" in recorder["advice"]


def test_doctor_packs_name_the_specs_that_include_them(shell, report):
    (shell.folder / "shop.esl").write_text("include django;\n", encoding="utf-8")
    packs = {pack["name"]: pack for pack in report()["packs"]}
    assert list(packs) == list(registry.known())
    assert packs["threads"]["followedBy"] == ["the default", "shop.esl"]  # django includes it
    assert packs["django"]["followedBy"] == ["shop.esl"] and packs["django"]["installed"]["django"]
    assert packs["celery"]["followedBy"] == []


def test_doctor_folder_not_mappable_is_a_problem(tmp_path, monkeypatch):
    def refuses(*_, **__):
        raise OSError(19, "No such device")

    monkeypatch.setattr(machine.mmap, "mmap", refuses)
    found = {each.name: each for each in machine.disk(tmp_path)}
    assert found["memory map"].status == "problem" and "--workspace" in found["memory map"].advice
    assert list(tmp_path.iterdir()) == []


def test_doctor_disk_less_free_than_the_quota_is_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "QUOTA", 1 << 60)
    found = {each.name: each for each in machine.disk(tmp_path)}
    assert found["disk"].status == "note" and "--quota" in found["disk"].advice


def test_doctor_limits_equal_those_of_the_system():
    found = {each.name: each.value for each in machine.limits()}
    assert found["open files"] == str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def test_doctor_paths_hide_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert machine.shortened("/home/ada/venv/bin/python") == "~/venv/bin/python"
    assert machine.shortened("/home/adam/bin/python") == "/home/adam/bin/python"
    assert machine.shortened("/home/ada") == "~"


def test_doctor_check_that_raises_is_a_note():
    def map_of_the_moon():
        yield Finding("before", "kept")
        raise ValueError("no moon")

    assert section("system", map_of_the_moon).findings == [
        Finding("before", "kept"), Finding("map of the moon", "ValueError: no moon", "note")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "status", "told"),
    [
        ("rseq, schedstat", "ok", "separate from work: clew knows when others had the processor"),
        ("rseq", "note", "separate from work, but not from sleep"),
        ("", "note", "counted as work"),
    ],
)
def test_doctor_says_whether_lost_time_is_separate_from_work(source, status, told):
    found = trial._pauses([SimpleNamespace(info={"pauses": source})])
    assert (found.status, found.value) == (status, told)
