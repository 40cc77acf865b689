"""The answers of the commands about a recorded program as golden texts, with times and counts made equal."""

import io
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from clew.records.run.directory import save_run
from tests.support.runs.damaged_runs import empty_run

WHY = """\
run before (WHEN)

ERROR Order failed: item 17 is sold out

It was written while handling shop.stock.SoldOut: item 17 is sold out, raised in check, app.py:24. \
Stock.lookup used item 17, which Stock.mark_sold defined.
How sure: recorded (events N)

in order
  +0.TTTTTT s              shop/app.py:18    ERROR Order failed: item 17 is sold out
  +0.TTTTTT s  data        shop/app.py:24    shop.stock.SoldOut: item 17 is sold out was raised in check, app.py:24
in sweeper, D earlier
  +0.TTTTTT s  data        shop/stock.py:21  Stock.lookup used item 17, which Stock.mark_sold defined
in MainThread, D earlier
  +0.TTTTTT s  scheduling  shop/app.py:34    Sweeper.run began as a thread that app.main started

more: 4 steps, 1 recorded cause: `clew why --run before --event N --causes`
"""
CHAIN = """\
       time  where it ran           what happened                                             source            because of
+0.TTTTTT s  shop.app / order 17    ERROR Order failed: item 17 is sold out                   shop/app.py:18
+0.TTTTTT s  shop.app / sweeper     Stock.lookup used item 17, which Stock.mark_sold defined  shop/stock.py:21  state item 17
+0.TTTTTT s  shop.app / MainThread  Sweeper.run began as a thread that app.main started       shop/app.py:34    thread.start
+0.TTTTTT s  shop.app / MainThread  thread MainThread of shop.app began                       shop/app.py:34    began it
4 steps · N events of N (P) led to it, in 1 process and 3 strands, by 3 edges · D
"""


def plain(text):
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "WHEN", text)
    text = re.sub(r"\+\d+\.\d{6} s", "+0.TTTTTT s", text)
    text = re.sub(r"\(events? [\d, ]+\)", "(events N)", re.sub(r"--event \d+", "--event N", text))
    text = re.sub(r"[\d.]+ (ns|µs|ms|s)\b", "D", text)
    # A step that is nearer than a millisecond has no time.
    text = re.sub(r"^(in (?:sweeper|MainThread))(:?)$", r"\1, D earlier\2", text, flags=re.MULTILINE | re.IGNORECASE)
    return re.sub(r"[\d,]+ events of [\d,]+ \([\d.<]+ %\)", "N events of N (P)", text)


def data(done):
    return json.loads(done.stdout)


def test_why_prints_the_verdict_its_certainty_and_the_steps(shop):
    assert plain(shop("why", "Order failed", "--run", "before").stdout) == WHY


def test_why_with_steps_also_prints_the_chain_back_to_the_root(shop):
    printed = plain(shop("why", "Order failed", "--run", "before", "--steps", 1000).stdout)
    assert printed == f"{WHY.partition('more: ')[0]}{CHAIN}"


def test_why_markdown_is_the_answer_for_a_ticket(shop):
    printed = plain(shop("why", "Order failed", "--run", "before", "--markdown").stdout)
    assert printed == (
        "**Why: ERROR Order failed: item 17 is sold out**\n\n"
        "It was written while handling shop.stock.SoldOut: item 17 is sold out, raised in check, app.py:24. "
        "Stock.lookup used item 17, which Stock.mark\\_sold defined.\n\n"
        "How sure: recorded\n\n"
        "In order:\n\n"
        "1. ERROR Order failed: item 17 is sold out (+0.TTTTTT s, `shop/app.py:18`)\n"
        "2. shop.stock.SoldOut: item 17 is sold out was raised in check, app.py:24 "
        "(data, +0.TTTTTT s, `shop/app.py:24`)\n\n"
        "In sweeper, D earlier:\n\n"
        "3. Stock.lookup used item 17, which Stock.mark\\_sold defined (data, +0.TTTTTT s, `shop/stock.py:21`)\n\n"
        "In MainThread, D earlier:\n\n"
        "4. Sweeper.run began as a thread that app.main started (scheduling, +0.TTTTTT s, `shop/app.py:34`)\n"
    )


def test_why_errors_groups_the_errors_of_a_run_by_cause(shop):
    grouped = data(shop("why", "--errors", "--run", "before", "--json"))["errors"]
    event = data(shop("why", "Order failed", "--run", "before", "--json"))["answers"][0]["event"]
    (cause,) = grouped["causes"]
    assert grouped["title"] == "1 ERROR line, 1 cause"
    assert (cause["count"], cause["event"], cause["verdict"]["title"]) == (
        1, event, "ERROR Order failed: item 17 is sold out",
    )  # fmt: skip
    printed = shop("why", "--errors", "--run", "before").stdout
    assert "): 1 ERROR line, 1 cause\n" in printed.splitlines(keepends=True)[0]
    assert f"look at one: `clew why --run before --event {event}`\n" in printed
    assert "--errors takes no TEXT" in shop("why", "Order", "--errors", code=2).stderr
    assert "--errors takes no --steps" in shop("why", "--errors", "--steps", "5", code=2).stderr


def test_why_not_tells_how_sure_it_is_and_how_to_ask_on(shop):
    printed = shop("why", "--not", "Order failed", "--run", "before").stdout
    assert (
        "\nHow sure: inferred from the steps of 1 request order with it\n\nmore: `clew why --run before --event "
        in printed
    )
    assert "--not takes no --markdown" in shop("why", "--not", "Order failed", "--markdown", code=2).stderr


def test_why_steps_leaves_out_the_middle_of_a_longer_chain(shop):
    whole = data(shop("why", "Order failed", "--run", "before", "--json"))["answers"][0]
    assert whole["hiddenSteps"] == 0
    assert len(whole["chain"]) > 3
    short = data(shop("why", "Order failed", "--run", "before", "--steps", 3, "--json"))["answers"][0]
    assert short["hiddenSteps"] == len(whole["chain"]) - 3
    assert short["chain"] == [*whole["chain"][:2], whole["chain"][-1]]
    lines = f"{WHY.partition('more: ')[0]}{CHAIN}".splitlines()
    middle = "1 step not shown" if short["hiddenSteps"] == 1 else f"{short['hiddenSteps']} steps not shown"
    printed = shop("why", "Order failed", "--run", "before", "--steps", 3).stdout
    assert f"{middle}; use --steps {len(whole['chain'])} to show all\n" in printed
    assert f"{len(whole['chain'])} steps · " in printed
    assert len(plain(printed).splitlines()) == len(lines) - short["hiddenSteps"] + 1


def test_why_at_accepts_a_log_line_a_logging_call_or_an_event(shop):
    lines = (shop.folder / "shop.log").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "Order failed" in line)
    assert plain(shop("why", "--at", f"shop.log:{number}").stdout) == WHY
    assert plain(shop("why", "--at", "shop/app.py:18", "--run", "before").stdout) == WHY
    assert plain(shop("why", "--at", f"{shop.folder}/shop/app.py:18", "--run", "before").stdout) == WHY
    event = data(shop("why", "Order failed", "--run", "before", "--json"))["answers"][0]["event"]
    assert plain(shop("why", "--event", event, "--run", "before").stdout) == WHY


def test_why_accepts_standard_input_and_a_place_without_an_option(shop, monkeypatch):
    lines = (shop.folder / "shop.log").read_text().splitlines()
    number, line = next((number, line) for number, line in enumerate(lines, 1) if "Order failed" in line)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"\napp  | {line}\n".encode())))
    assert plain(shop("why", "-").stdout) == WHY
    assert plain(shop("why", f"shop.log:{number}").stdout) == WHY
    assert plain(shop("why", "shop/app.py:18", "--run", "before").stdout) == WHY
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    done = shop("why", "-", code=2)
    assert "standard input" in done.stderr and not done.stdout
    assert "shop.log:9999: there is no such line" in shop("why", "shop.log:9999", code=1).stderr


def test_why_without_a_target_means_the_newest_error(shop):
    assert plain(shop("why", "--run", "before").stdout) == WHY


def test_why_causes_lists_each_cause_with_its_command(shop):
    listed = data(shop("why", "Order failed", "--run", "before", "--causes", "--json"))["answers"][0]
    assert listed["title"] == "ERROR Order failed: item 17 is sold out"
    assert listed["causes"][0]["title"] == "Stock.lookup used item 17, which Stock.mark_sold defined"
    printed = shop("why", "Order failed", "--run", "before", "--causes").stdout
    for cause in listed["causes"]:
        assert f"clew why --run before --event {cause['event']}\n" in printed
    assert "\n1 cause: 1 by item\n" in printed
    assert plain(printed).endswith(f"\n\n{CHAIN}")
    first = data(shop("why", "--event", listed["causes"][0]["event"], "--run", "before", "--json"))
    assert first["answers"][0]["event"] == listed["causes"][0]["event"]


def test_why_with_several_matching_lines_explains_newest_unless_all_is_given(shop):
    done = shop("why", "s")
    head = done.stdout.splitlines()[0]
    assert re.fullmatch(r"run after \(.*\): 4 match, this is the newest; use --all to see every one", head)
    answers = data(shop("why", "s", "--all", "--json"))
    assert answers["matches"] == len(answers["answers"]) == 4
    assert answers["answers"][0]["title"].startswith("WARNING audit")
    assert shop("why", "s", "--all").stdout.count("How sure: ") == 4


def test_why_json_has_exactly_its_keys(shop):
    answer = data(shop("why", "Order failed", "--json"))
    assert list(answer) == ["run", "matches", "answers"]
    (one,) = answer["answers"]
    assert list(one) == ["event", "title", "answer", "chain", "numbers", "meeting", "hiddenSteps"]
    assert list(one["chain"][0]) == [
        "event", "title", "detail", "process", "strand", "timeNs", "edge", "channel", "key", "otherCauses", "nodeId",
        "location", "machine", "clock", "uncertain", "gaps", "hiddenGaps",
    ]  # fmt: skip
    assert list(one["answer"]) == [
        "event", "title", "sentences", "certainty", "sure", "basis", "remedy", "diagnosis", "steps", "moreSteps",
        "others", "limits", "failedTest", "write", "markdown",
    ]  # fmt: skip
    assert list(one["answer"]["sentences"][0]) == ["text", "events"]
    assert list(one["answer"]["steps"][0]) == [
        "event",
        "title",
        "reason",
        "group",
        "timeNs",
        "location",
        "folded",
        "clock",
        "missing",
    ]
    assert list(one["numbers"]) == ["events", "eventsInRun", "edges", "processes", "strands", "elapsedMs"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (
            ["Ordr failled"],
            1,
            "no log line of run after has 'Ordr failled'; of 4 log lines, the nearest are 'Order failed",
        ),
        (["zzz"], 1, "of 4 log lines, none is near"),
        (["--run", "nope"], 2, "no run named 'nope'"),
        (["--at", "app.py"], 2, "--at 'app.py': expected FILE:LINE, for example app.py:42"),
        (
            ["--at", "nowhere.py:3"],
            1,
            "has no call of a function there; it recorded no function of the file, only of shop/",
        ),
        (["--at", "ap.py:3"], 1, "it recorded no function of the file, only of shop/app.py"),
        (["--event", "99999999"], 1, "has no event 99999999"),
        (["a", "--event", "3"], 2, "use only one of TEXT, --at and --event"),
    ],
)
def test_why_without_an_answer_writes_to_stderr(shop, arguments, code, text):
    done = shop("why", *arguments, code=code)
    assert done.stdout == ""
    assert done.stderr.startswith("clew: ") and text in done.stderr


LOOP = """\
import sys
def tiny(i): return i
def main(calls):
    for i in range(calls): tiny(i)
main(int(sys.argv[1]))
"""


def test_counted_calls_are_reported_by_diff_aggregate_and_runs(shell):
    (shell.folder / "loop.py").write_text(LOOP)
    # The problem is stored with the run, also with --quiet.
    for name, calls, quiet in (("few", 200_000, ["--quiet"]), ("many", 600_000, [])):
        shell.process("run", *quiet, "--workspace", ".", "--name", name, "--", sys.executable, "loop.py", calls)
    listed = {run["name"]: run["problems"] for run in data(shell("runs", "--json"))["runs"]}
    answer = data(shell("diff", "few", "many", "--json"))
    tiny = next(row for row in answer["rows"] if row["label"] == "loop:tiny")
    assert (tiny["callsBefore"], tiny["callsAfter"]) == (200_000, 600_000)
    assert 0 < tiny["countedBefore"] < 200_000 and 0 < tiny["countedAfter"] < 600_000
    assert listed["few"] == [
        f"1 function ran too often for the budget and was only counted for a time: loop:tiny ({tiny['countedBefore']:,} calls)"
    ]
    counted = tiny["countedBefore"] + tiny["countedAfter"]
    lines = shell("diff", "few", "many").stdout.splitlines()
    assert f"times of {counted:,} counted calls are missing" in lines[0]
    assert "loop:tiny (200,000 calls before and 600,000 after)" in lines[-2]
    done = shell("aggregate", "--run", "few")
    assert f"times of {tiny['countedBefore']:,} counted calls are unknown" in done.stdout
    assert "loop:tiny: recording would have cost more than the budget" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["before@slowest", "after", "--by", "functions"],
            "functions are compared between whole runs, not single requests",
        ),
        (["before", "nope"], "no run named 'nope'"),
        (["before", "after", "--level", "moduel"], "did you mean 'module'?"),
        (["before"], "only one run given, 'before'"),
    ],
)
def test_diff_of_incomparable_runs_names_the_reason(shop, arguments, text):
    done = shop("diff", *arguments, code=2)
    assert done.stdout == "" and text in done.stderr


def test_slice_lists_the_causes_of_events(shop):
    done = shop(
        "slice", "--run", "before", "--where", "text~Order failed", "--only", "kind=~log|define",
        "--select", "strand,kind,text",
    )  # fmt: skip
    assert done.stdout.splitlines()[:3] == [
        "strand    kind    text",
        "sweeper   define  17",
        "order 17  log     Order failed: item 17 is sold out",
    ]
    assert re.match(
        r"1 start · \d+ events of \d+ \(.*\) led to it, in 1 process and 3 strands", done.stdout.splitlines()[-1]
    )


def test_slice_text_equals_the_conditions_on_log_and_text(shop):
    assert (
        shop("slice", "Order failed").stdout
        == shop("slice", "--where", "kind=log", "--where", "text~Order failed").stdout
    )


def test_slice_forward_json_has_the_effects(shop):
    answer = data(
        shop(
            "slice",
            "--run",
            "before",
            "--where",
            "kind=define",
            "--direction",
            "forward",
            "--only",
            "kind=log",
            "--select",
            "text",
            "--json",
        )
    )
    assert {"text": "Order failed: item 17 is sold out"} in answer["events"]
    assert list(answer) == ["run", "direction", "numbers", "events", "gaps", "hiddenGaps", "machines"]


def test_slice_with_too_many_events_counts_those_left_out(shop):
    done = shop("slice", "--where", "level>=ERROR", "--limit", "2")
    assert re.search(r"^and \d+ more; use --limit to show more$", done.stdout, re.M)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "no start event given"),
        (["--where", "text"], 2, "'text' is not a condition; write FIELD=VALUE"),
        (["--where", "txet~a"], 2, "did you mean 'text'?"),
        (["--where", "line=x"], 2, "line must be a whole number"),
        (["--where", "text=~("], 2, "not a regular expression"),
        (["--where", "text~zzz"], 1, "no event of run after matches text~zzz"),
        (
            ["Ordr failled"],
            1,
            "no log line of run after has 'Ordr failled'; of 4 log lines, the nearest are 'Order failed",
        ),
        (["Order", "--where", "level=DEBUG"], 1, "no event of run after matches level=DEBUG and text~Order"),
        (["Order", "--where", "kind=enter"], 2, "TEXT and --where cannot be combined"),
        (["--where", "text~a", "--select", "nothing"], 2, "no field 'nothing'"),
        (["--where", "text~a", "--where", "text~b"], 2, "given twice"),
    ],
)
def test_slice_without_an_answer_names_the_reason(shop, arguments, code, text):
    done = shop("slice", *arguments, code=code)
    assert done.stdout == "" and text in done.stderr


def test_path_adds_up_to_its_total(shop):
    answer = data(shop("path", "Order failed", "--run", "after", "--json"))
    assert sum(s["selfNs"] + s["waitNs"] for s in answer["segments"]) == pytest.approx(answer["totalNs"])
    text = shop("path", "Order failed", "--run", "after").stdout
    assert text.startswith("run after: ERROR Order failed: item 17 is sold out: ")
    assert "shop.stock:Stock.lookup" in text and re.search(r"in total: .* of work and .* of waiting$", text, re.M)
    assert "no log line of run after has" in shop("path", "zzz", code=1).stderr


def test_path_what_if_shows_the_saving_and_branches(shop):
    asked = ("path", "Order failed", "--run", "after")
    answer = data(shop(*asked, "--what-if", "shop.stock:Stock.lookup=50%", "--json"))
    (what_if,) = answer["whatIf"]
    assert 0 < what_if["savedNs"] <= what_if["workNs"] / 2 + 1
    assert what_if["afterNs"] == pytest.approx(answer["totalNs"] - what_if["savedNs"])
    assert all(branch["slackNs"] >= 0 for branch in answer["branches"])
    text = shop(*asked, "--what-if", "shop.stock:Stock.lookup=50%").stdout
    assert re.search(
        r"^shop\.stock:Stock\.lookup 50 % faster: over .* sooner \(.* %\), after .*; its work takes", text, re.M
    )
    assert "left behind" in text or not answer["branches"]
    wrong = shop(*asked, "--what-if", "Stock.lookup", code=2).stderr
    assert "'Stock.lookup': expected FUNCTION=SHARE, for example app:parse=10%" in wrong
    assert "did you mean 'shop.stock:Stock.lookup'?" in shop(*asked, "--what-if", "shop.stock:lookup=5%", code=2).stderr


@pytest.mark.parametrize("level", ["function", "class", "module", "component", "task", "thread", "process", "machine"])
def test_aggregate_self_and_waiting_times_are_at_most_the_total(shop, level):
    rows = data(shop("aggregate", "--run", "before", "--level", level, "--json"))["labels"]
    called = [row for row in rows if row["calls"]]
    assert called
    for row in called:
        assert row["waitingNs"] <= row["totalNs"] and row["selfNs"] <= row["totalNs"], row


def test_aggregate_of_run_without_events_names_the_reason(shell):
    shell.process("run", "--workspace", ".", "--name", "empty", "--", "true")
    done = shell("aggregate", "--run", "empty", code=1)
    assert done.stdout == "" and done.stderr.startswith(
        "clew: run empty recorded no event: no Python process was recorded: true did not start a Python interpreter"
    )


def test_aggregate_sums_the_run_or_the_causes_of_a_line(shop):
    rows = data(shop("aggregate", "--run", "before", "--json"))["labels"]
    assert {row["label"]: row["calls"] for row in rows}["shop.app:order"] == 20
    rows = data(shop("aggregate", "Order failed", "--run", "before", "--json"))["labels"]
    assert {row["label"]: row["calls"] for row in rows}["shop.app:order"] == 1
    lines = shop("aggregate", "--run", "after", "--level", "component", "--sort", "calls").stdout.splitlines()
    assert lines[2].split()[:3] == ["self", "total", "waiting"]
    assert {line.split()[-1] for line in lines[3:]} >= {"desk", "shelf", "office"}
    assert "clew slice" in shop("aggregate", "--level", "event", code=2).stderr


def test_table_is_coloured_only_on_a_terminal(shop):
    assert "\x1b" not in shop("runs").stdout
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        shop.command("runs"), cwd=shop.folder, env={**shop.env, "TERM": "xterm"}, stdout=follower, close_fds=True
    )
    os.close(follower)
    out = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(leader)
    assert process.wait(120) == 0
    assert b"\x1b[1m" in out


def test_notes_name_files_inside_the_run_and_join_equal_notes(shop, tmp_path, capsys):
    from types import SimpleNamespace

    from clew.cli.output.options import print_notes, print_problems
    from clew.records.errors import Problem

    torn = [Problem(str(tmp_path / f"{pid}-{pid:x}.clew@4096"), "a chunk is torn", "7 records") for pid in (10, 11, 12)]
    there = Problem(str(tmp_path / "13-000000000000000d.clew"), f"{tmp_path / 'store'} is not there")
    died = Problem(str(tmp_path / "14-000000000000000e.clew"), "process 14 (app) died")
    print_problems(SimpleNamespace(folder=tmp_path, problems=[*torn, there, died]))
    print_notes(["a", "b", "a", "c", "d"])
    assert capsys.readouterr().err.splitlines() == [
        "clew: note: 10-a.clew@4096 and 2 more: a chunk is torn (7 records)",
        "clew: note: process 13: store is not there",
        "clew: note: process 14 (app) died",
        "clew: note: a (2 times)", "clew: note: b", "clew: note: c", "clew: note: and 1 more; use --json to see all",
    ]  # fmt: skip


def test_standard_library_files_have_short_names_in_every_answer(shell):
    (shell.folder / "waits.py").write_text(
        "import asyncio, logging, threading\n\ndef work():\n    pass\n\nasync def main():\n"
        "    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n"
        "    logging.error('it is over')\n\nasyncio.run(main())\n"
    )
    shell.process("run", "-q", "--workspace", shell.folder, "--", sys.executable, "waits.py")
    why, path = shell("why", "--steps", 1000).stdout, shell("path", "it is over").stdout
    summed = shell("aggregate").stdout
    for answer in (why, path, summed):
        assert os.path.dirname(os.__file__) not in answer
    assert "<stdlib>/asyncio/events.py:" in why
    # The place of a function is its first line, not the line that logs; a thread has no place.
    functions = {line.split()[-2]: line.split()[-1] for line in summed.splitlines() if "waits.py" in line}
    assert functions == {"waits:main": "waits.py:6", "waits:work": "waits.py:3"}
    stretches = path.partition(" in total: ")[0]  # the branches below have places of events
    assert {line.split()[-1] for line in stretches.splitlines() if "  waits:main  " in line} == {"waits.py:6"}
    assert "<stdlib>" not in summed


@pytest.mark.parametrize("words", [("why", "sold out"), ("slice", "sold out"), ("sql", "select id from events")])
def test_answers_about_live_run_note_that_event_numbers_change(shell, words):
    run = empty_run(shell.folder, "live")
    run.process("app").thread().log("item 17 is sold out", level=40)
    folder = run.write()
    save_run(folder, run.info)  # the run is live
    note = "clew: note: run live is live: event numbers are valid now and change as events arrive"
    for more in ((), ("--json",)):
        assert note in shell(*words, *more).stderr.splitlines()
    save_run(folder, run.info._replace(finished=run.info.started + 1, exit_code=0))
    assert note not in shell(*words).stderr


def test_path_to_an_error_prints_the_verdict_of_why(shop):
    printed = plain(shop("path", "Order failed", "--run", "before").stdout)
    assert (
        "\n\nERROR Order failed: item 17 is sold out\n"
        "It was written while handling shop.stock.SoldOut: item 17 is sold out, raised in check, app.py:24. "
        "Stock.lookup used item 17, which Stock.mark_sold defined.\nHow sure: recorded (events N)\n\n"
    ) in printed
    answer = data(shop("path", "Order failed", "--run", "before", "--json"))["verdict"]
    assert answer["sentences"][1]["text"] == "Stock.lookup used item 17, which Stock.mark_sold defined."
    assert data(shop("path", "audit", "--run", "before", "--json"))["verdict"] is None
