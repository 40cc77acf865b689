"""`clew localize`: the output, `--fail-on` and refused arguments; `clew/localize` gives the same answer."""

from __future__ import annotations

import json

import pytest

from clew.cli.main import call
from clew.records.errors import ClewError
from clew.server.handlers import answer
from clew.server.session.session import Session
from tests.support.runs.compared_runs import record
from tests.support.runs.spans import period


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suspects")
    record(folder, "before", 1)
    record(folder, "before-2", 2)
    record(folder, "slow", 3, slow="show")
    record(folder, "more", 5, more="buy")
    record(folder, "one", 6, requests=1)
    record(folder, "empty", 7, requests=0)
    return folder


@pytest.fixture
def localize(workspace, capsys):
    """Return a function that runs `clew localize` and returns the exit code, stdout and stderr."""

    def run(*arguments):
        code = call(["localize", *arguments, "--workspace", str(workspace)])
        return code, *capsys.readouterr()

    return run


def test_localize_slow_function_is_first_with_its_times(localize):
    code, out, _ = localize("slow", "--against", "before")
    assert code == 0
    assert out.startswith("first suspect of 90 requests against 90: app:show_store itself takes ")
    assert "µs -> 2" in out.splitlines()[0] and "(of 30 and 30 requests)" in out
    assert "Suspects are ranked by bits" in out


def test_localize_added_call_is_evidence_against_its_caller(localize):
    found = json.loads(localize("more", "--against", "before", "--json")[1])
    first = found["suspects"][0]
    assert (first["method"], first["evidence"][0]["kind"]) == ("app:serve", "call")
    assert first["evidence"][0]["text"] == "app:audit"
    assert first["evidence"][0]["after"] == pytest.approx(1 / 3, abs=0.01)


def test_localize_several_reference_runs_are_joined(localize):
    assert "of 90 requests against 180" in localize("slow", "--against", "before", "--against", "before-2")[1]


def test_localize_fail_on_exits_with_3_above_the_bits(localize):
    assert localize("slow", "--against", "before", "--fail-on", "0.1")[0] == 3
    assert localize("slow", "--against", "before", "--fail-on", "9")[0] == 0


def test_localize_with_request_name_uses_those_requests_only(localize):
    assert "of 30 requests against 30" in localize("slow", "--against", "before", "--request", "show")[1]
    code, _, err = localize("slow", "--against", "before", "--request", "sell")
    assert code == 2 and "no suspect run has a request named 'sell'; there are buy, list, show" in err


def test_localize_with_one_request_or_without_reference_answers(localize):
    assert localize("one", "--against", "before")[0] == 0
    code, out, _ = localize("one")
    assert code == 0 and "no place differs noticeably" in out
    assert localize("before")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("empty", "--against", "before"), "no requests in empty"),
        (("slow", "--against", "empty"), "no requests in empty"),
        (("slow", "--against", "slow"), "Both sides are the same"),
        (("slow", "--against", "nothing"), "nothing"),
        ((), "SUSPECT"),
        (("slow", "--fail-on", "0"), "--fail-on"),
    ],
)
def test_localize_with_wrong_arguments_prints_one_sentence(localize, arguments, what):
    code, out, err = localize(*arguments)
    assert code == 2 and out == "" and what in err and "Traceback" not in err


def test_localize_logs_as_a_run_of_their_own_are_refused(tmp_path, localize):
    usual = [(number, 0, "served", 9) for number in range(40)]
    for seed, name in ((1, "good"), (2, "bad")):
        period(tmp_path, seed, name, logs=usual)
    bad, logs, good, others = (str(tmp_path / f"{name}.jsonl") for name in ("bad", "bad-logs", "good", "good-logs"))
    code, out, err = localize(bad, logs, "--against", f"{good},{others}")
    assert code == 2 and out == "" and "bad-logs" in err and "comma" in err
    assert localize(f"{bad},{logs}", "--against", f"{good},{others}")[0] == 0


def test_localize_request_has_examples_and_places(workspace):
    session = Session(workspace)
    found = answer(session, "clew/localize", {"suspect": ["slow"], "reference": ["before"], "maxSuspects": 1})
    (first,) = found["suspects"]
    assert first["rank"] == 1 and first["score"] > 0
    assert first["location"]["line"] > 0 and first["evidence"][0]["event"] is not None
    assert found["hiddenSuspects"] >= 0 and found["message"] == "" and found["requestsSuspect"] == 90
    with pytest.raises(ClewError, match="name a run"):
        answer(session, "clew/localize", {"suspect": []})


def test_localize_request_without_reference_has_clusters(workspace):
    found = answer(Session(workspace), "clew/localize", {"suspect": ["slow"]})
    assert found["reference"] == [] and sum(cluster["requests"] for cluster in found["clusters"]) == 90
    assert {cluster["method"] for cluster in found["clusters"]} <= {"pca", "robust z", "none"}
