"""`clew import` and `clew export`, and foreign traces in the place of a run."""

import json
import os
import re
import subprocess

import pytest

from clew.query.api import open_run
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, list_runs

TRACE = {"data": [{
    "traceID": "a1", "processes": {"p1": {"serviceName": "shop"}, "p2": {"serviceName": "bank"}},
    "spans": [
        {"traceID": "a1", "spanID": "1", "operationName": "buy", "references": [], "startTime": 1_700_000_000_000_000,
         "duration": 100_000, "processID": "p1"},
        {"traceID": "a1", "spanID": "2", "operationName": "pay", "startTime": 1_700_000_000_010_000, "duration": 60_000,
         "references": [{"refType": "CHILD_OF", "traceID": "a1", "spanID": "1"}], "processID": "p2",
         "tags": [{"key": "error", "type": "bool", "value": True}],
         "logs": [{"timestamp": 1_700_000_000_050_000,
                   "fields": [{"key": "level", "value": "error"}, {"key": "message", "value": "card refused"}]}]},
    ],
}]}  # fmt: skip


@pytest.fixture
def trace(shell):
    path = shell.folder / "checkout.json"
    path.write_text(json.dumps(TRACE))
    (shell.folder / ".clew" / "runs").mkdir(parents=True)
    return path


def test_import_prints_counts_of_spans_logs_and_edges(shell, trace):
    done = shell("import", trace)
    assert done.stdout.startswith("run checkout: 2 spans, 1 log, 11 events, 2 edges, 2 processes, 2 strands (jaeger)\n")
    assert "`clew path --run checkout`" in done.stdout
    said = json.loads(shell("import", trace, "-o", "again", "--json").stdout)
    assert (said["name"], said["spans"], said["logs"], said["problems"]) == ("again", 2, 1, [])
    assert said["files"][0]["format"] == "jaeger"


def test_import_makes_the_newest_run_whatever_the_age_of_its_trace(shell, trace):
    shell("import", trace)
    done = shell("why", "--steps", 1000)
    assert "ERROR card refused" in done.stdout
    assert "bank.pay handled a request that shop.buy sent" in done.stdout
    assert "request buy began in shop.buy" in done.stdout


def test_run_option_accepts_a_foreign_file_and_imports_it_once(shell, trace):
    path = shell("path", "--run", trace.name).stdout
    assert "bank:pay" in path and "0 ns of waiting" in path
    assert "card refused" in shell("slice", "--run", trace.name, "--where", "level=ERROR").stdout
    assert "bank" in shell("aggregate", "--run", trace.name, "--level", "component").stdout
    assert "card refused" in shell("why", "refused", "--run", str(trace)).stdout
    shell("diff", trace.name, trace.name)
    assert len(list_runs(shell.folder)) == 1
    # A changed file is another trace.
    os.utime(trace, ns=(0, 0))
    shell("path", "--run", trace.name)
    assert len(list_runs(shell.folder)) == 2


def test_run_option_accepts_several_files_of_a_trace_with_commas(shell, trace):
    ids = {"traceId": "0a" * 16, "spanId": "0b" * 8}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    span = {**ids, "name": "buy", "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000100000000"}
    log = {**ids, "timeUnixNano": "1700000000050000000", "body": {"stringValue": "card refused"}, "severityNumber": 17}
    spans, logs = shell.folder / "spans.json", shell.folder / "logs.json"
    spans.write_text(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}))
    logs.write_text(json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [log]}]}]}))
    both = f"{spans.name},{logs.name}"
    for _ in range(2):
        assert "request buy began in shop.buy" in shell("why", "refused", "--run", both, "--steps", 1000).stdout
    assert len(list_runs(shell.folder)) == 1
    with pytest.raises(AssertionError, match="elsewhere.json: no such file; commas separate the files of one"):
        shell("path", "--run", f"{spans.name},elsewhere.json")


def test_open_run_accepts_a_foreign_file(shell, trace):
    run = open_run(trace, workspace=shell.folder)
    assert [event.text for event in run.events.where(level="ERROR")] == ["card refused"]
    assert run.requests.named("buy").slice().aggregate("component").count() == 2


def test_run_option_prefers_a_run_to_a_file_of_its_name(shell, trace):
    shell("import", trace, "-o", "first")
    (shell.folder / "first").write_text("not a trace")
    with pytest.raises(AssertionError, match="not in a format"):
        shell("path", "--run", "./first")


def test_import_out_is_a_name_or_a_folder(shell, trace):
    shell("import", trace, "-o", "./kept/here")
    assert "bank:pay" in shell("path", "--run", "./kept/here").stdout
    assert "the folder exists already" in shell("import", trace, "-o", "./kept/here", code=2).stderr


def test_imported_run_with_lost_store_is_rebuilt_from_the_file(shell, trace):
    import shutil

    shell("import", trace, "-o", "./kept")
    before = shell("slice", "--run", "./kept", "--where", "level=ERROR").stdout
    shutil.rmtree(shell.folder / "kept" / "store")
    assert shell("slice", "--run", "./kept", "--where", "level=ERROR").stdout == before
    shutil.rmtree(shell.folder / "kept" / "store")
    trace.write_text("{}")
    error = shell("path", "--run", "./kept", code=2).stderr
    assert "is gone or has changed; import it again" in error


@pytest.mark.parametrize(
    "content, said", [("{", "it contains no trace"), ('{"data": [{"spans": [{"spanID": ', "is cut off at character")]
)
def test_import_of_damaged_file_prints_one_message_and_makes_no_run(shell, content, said):
    file = shell.folder / "bad.json"
    file.write_text(content)
    for arguments in (["import", file], ["path", "--run", "./bad.json"]):
        done = shell(*arguments, code=2)
        assert done.stdout == "" and said in done.stderr and done.stderr.count("\n") == 1
    assert [info for _, info in list_runs(shell.folder)] == []


def test_import_of_missing_file_or_folder_is_refused(shell):
    assert "no.json: cannot be read" in shell("import", "no.json", code=2).stderr
    (shell.folder / "d").mkdir()
    assert "d: a folder; name the trace files in it" in shell("import", "d", code=2).stderr


def test_imported_run_without_its_origin_is_damaged(shell, trace):
    shell("import", trace)
    ((folder, _),) = list_runs(shell.folder)
    said = folder / "run.json"
    said.write_text(said.read_text().replace('"imported"', '"imporved"'))
    assert "the origin of the import is missing" in shell("runs", folder, code=2).stderr


def test_import_interrupted_is_reported_by_commands(shell, trace):
    create_run(
        shell.folder, name="cut", command=["clew", "import", "big.json"], spec="", plan=dump(Plan()), cwd=shell.folder
    )
    said = shell("sql", "cut", "select count(*) from events", code=2).stderr
    assert "a trace is being imported there, or the import was interrupted" in said and said.count("\n") == 1


def test_import_pattern_reads_lines_by_a_regular_expression(shell):
    (shell.folder / "node.log").write_text('a|{"a": 1}|sent\nb|{"a": 1, "b": 1}|got\n')
    done = shell("import", "node.log", "--pattern", r"^(?<host>\w+)\|(?<clock>\{.*\})\|(?<event>.*)$")
    assert "2 logs" in done.stdout and "1 edge" in done.stdout
    assert "missing groups: clock" in shell("import", "node.log", "--pattern", "(?<host>a)(?<event>b)", code=2).stderr


@pytest.mark.parametrize("format_", ["otlp", "otlp-proto", "chrome"])
def test_export_can_be_imported_again(shell, trace, format_):
    done = shell("export", trace.name, "--format", format_, "-o", "out.trace")
    assert f"as {format_}" in done.stdout
    said = json.loads(shell("import", "out.trace", "--json").stdout)
    assert (said["spans"], said["logs"], said["edges"], said["problems"]) == (2, 1, 2, [])
    assert not list(shell.folder.glob("*.part"))


def test_export_writes_into_pipes_and_links_without_replacing_them(shell, trace):
    shell("export", trace.name, "--format", "otlp", "-o", "out.trace")
    expected = (shell.folder / "out.trace").read_bytes()
    pipe, link, file = (shell.folder / name for name in ("pipe", "link", "file"))
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        shell("export", trace.name, "--format", "otlp", "-o", pipe)
        assert reader.communicate()[0] == expected
    assert pipe.is_fifo()
    file.touch()
    link.symlink_to(file)
    shell("export", trace.name, "--format", "otlp", "-o", link)
    assert link.is_symlink() and file.read_bytes() == expected
    done = subprocess.run(
        shell.command("export", trace.name, "--format", "otlp", "-o", "-"),
        cwd=shell.folder,
        capture_output=True,
        check=True,
    )
    assert done.stdout == expected and done.stderr == b""


def test_export_that_cannot_be_written_prints_one_message(shell, trace):
    assert "does not exist; create it" in shell("export", trace.name, "--format", "otlp", "-o", "no/out", code=2).stderr
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "-",
         *shell.command("export", trace.name, "--format", "otlp", "-o", "out.trace")],
        cwd=shell.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "clew: out.trace: cannot be written (File too large)\n")
    assert not list(shell.folder.glob("out.trace*"))


def test_runs_lists_imported_runs(shell, trace):
    shell("import", trace)
    row = shell("runs").stdout.splitlines()[1]
    assert "checkout" in row and "2023-11-14" in row and "0 B" not in row


def skewed():
    """Return `TRACE` with the clock of the bank's host half a second behind."""
    document = json.loads(json.dumps(TRACE))
    (trace,) = document["data"]
    for name, host in (("p1", "north"), ("p2", "south")):
        trace["processes"][name]["tags"] = [{"key": "hostname", "type": "string", "value": host}]
    trace["spans"][1]["startTime"] -= 500_000
    return document


def test_runs_of_one_run_lists_its_machines_and_clocks(shell, trace):
    trace.write_text(json.dumps(skewed()))
    text = shell("runs", trace.name).stdout
    assert "2 processes on 2 machines" in text
    assert "south    +510 ms (can be off by 20 ms below, 20 ms above; 2 messages)" in text
    assert "north    reference clock" in text
    told = json.loads(shell("runs", "checkout", "--json").stdout)
    south = told["machines"][1]
    assert (south["name"], south["offsetNs"], south["messages"]) == ("south", 510_000_000, 2)
    assert [process["machine"] for process in told["processesOf"]] == ["north", "south"]
    assert "no run named 'nothing'" in shell("runs", "nothing", code=2).stderr


def test_why_of_imported_trace_without_logs_suggests_importing_them(shell, trace):
    spans = json.loads(json.dumps(TRACE))
    del spans["data"][0]["spans"][1]["logs"]
    trace.write_text(json.dumps(spans))
    assert "import its log file along with it" in shell("why", "refused", "--run", trace.name, code=1).stderr


def test_why_names_the_event_on_all_causal_paths(shell, trace):
    spans = [("1", "", "p1", 0, 100), ("2", "1", "p2", 10, 80), ("3", "2", "p3", 20, 20), ("4", "2", "p4", 20, 25),
             ("5", "2", "p5", 60, 20)]  # fmt: skip
    began = 1_700_000_000_000_000
    document = {"data": [{
        "traceID": "a1",
        "processes": {f"p{number}": {"serviceName": name}
                      for number, name in enumerate(("client", "shop", "stock", "prices", "bank"), 1)},
        "spans": [
            {"traceID": "a1", "spanID": span, "operationName": f"op{span}", "startTime": began + start * 1000,
             "duration": length * 1000, "processID": process,
             "references": [{"refType": "CHILD_OF", "traceID": "a1", "spanID": parent}] if parent else [],
             "logs": [{"timestamp": began + 70_000, "fields": [{"key": "level", "value": "error"},
                       {"key": "message", "value": "card refused"}]}] if span == "5" else []}
            for span, parent, process, start, length in spans
        ],
    }]}  # fmt: skip
    trace.write_text(json.dumps(document))
    text = shell("why", "refused", "--run", trace.name, "--steps", 1000).stdout
    # The shop asked stock and prices at once, and then the bank.
    assert re.search(r"\nall causal paths lead through event \d+: shop.op2 sent a request, in shop / ", text)
    meeting = json.loads(shell("why", "refused", "--run", trace.name, "--json").stdout)["answers"][0]["meeting"]
    assert meeting["process"] == "shop"
