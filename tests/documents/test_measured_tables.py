"""`record.py --docs` writes measurements into the tables of docs/recording.md and changes nothing else."""

import pytest
from recording.documented import DOCUMENT, rewrite, tables


def row(name, unit, ours, peer, value, asked=None, met=None):
    return {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_value": value, "asked": asked, "met": met}


RUNS = {
    "3.11": [
        row("fib: CPU time, untraced is 1", "x", 1.53, "VizTracer", 4.654, 1.45, False),
        row("fib: CPU time, untraced is 1", "x", 1.53, "cProfile", 5.4),
        row("fib: added to a call", "ns", 19.2, "VizTracer", 130.4),
        row("kill: a run of 1,403,112 events", "s", 6.25, "VizTracer, which keeps nothing", None),
    ],
    "3.12": [
        row("fib: CPU time, untraced is 1", "x", 1.46, "VizTracer", 2.77, 1.6, True),
        row("fib: added to a call", "ns", 15.1, "VizTracer", 59),
        row("fib: added to a call", "ns", 15.1, "sys.monitoring", 48),
        row("jinja2: added to a call", "ns", 34, "VizTracer", 1250, 31.2, False),
        row("bytes on disk", "B", 2.75, "VizTracer", 264.9, 3, True),
    ],
}


def test_measured_tables_have_a_row_per_program_and_a_dash_for_gaps():
    found = tables(RUNS, "a machine")
    assert found["machine"] == "Measured on a machine."
    assert found["added"].splitlines() == [
        "|  | 3.11 | VizTracer | 3.12 | VizTracer | sys.monitoring |",
        "| --- | --- | --- | --- | --- | --- |",
        "| fib | 19.2 | 130 | 15.1 | 59 | 48 |",
        "| jinja2 | – | – | 34 (asked 31.2) | 1,250 | – |",
    ]
    assert found["ratios"].splitlines()[2:] == ["| fib | 1.53 (asked 1.45) | 4.65 | 5.4 | 1.46 | 2.77 |"]
    assert found["around"].splitlines() == [
        "|  | asked | 3.11 | VizTracer | 3.12 | VizTracer |",
        "| --- | --- | --- | --- | --- | --- |",
        "| kill: a run of events, s | – | 6.25 | – | – | – |",
        "| bytes on disk, B | 3 | – | – | 2.75 | 265 |",
    ]


def test_rewrite_changes_only_text_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    names = list(tables(RUNS, "m"))
    page.write_text(
        "head\n" + "".join(f"<!-- measured: {name} -->\nold\n<!-- end -->\n\ntext {name}\n" for name in names)
    )
    rewrite(page, RUNS, "m")
    tables_now = tables(RUNS, "m")
    assert page.read_text() == "head\n" + "".join(
        f"<!-- measured: {name} -->\n{tables_now[name]}\n<!-- end -->\n\ntext {name}\n" for name in names
    )
    before = page.read_bytes()
    rewrite(page, RUNS, "m")
    assert page.read_bytes() == before


def test_rewrite_without_new_measurements_keeps_the_old_rows(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- measured: {name} -->\n<!-- end -->\n" for name in tables(RUNS, "m")))
    rewrite(page, RUNS, "m")
    again = [
        row("fib: CPU time, untraced is 1", "x", 1.4, "VizTracer", 4, 1.45, True),
        row("parser: added to a call", "ns", 30, "VizTracer", 300),
    ]
    rewrite(page, {"3.11": again}, "m")
    assert [line for line in page.read_text().splitlines() if line.startswith("|")] == [
        "|  | 3.11 | VizTracer | 3.12 | VizTracer | sys.monitoring |",
        "| --- | --- | --- | --- | --- | --- |",
        "| fib | 19.2 | 130 | 15.1 | 59 | 48 |",
        "| jinja2 | – | – | 34 (asked 31.2) | 1,250 | – |",
        "| parser | 30 | 300 | – | – | – |",
        "|  | 3.11 | VizTracer | cProfile | 3.12 | VizTracer |",
        "| --- | --- | --- | --- | --- | --- |",
        "| fib | 1.4 | 4 | 5.4 | 1.46 | 2.77 |",
        "|  | asked | 3.11 | VizTracer | 3.12 | VizTracer |",
        "| --- | --- | --- | --- | --- | --- |",
        "| kill: a run of events, s | – | 6.25 | – | – | – |",
        "| bytes on disk, B | 3 | – | – | 2.75 | 265 |",
    ]


def test_rewrite_of_page_without_a_mark_raises_and_leaves_it_unchanged(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: machine -->\n<!-- end -->\n")
    with pytest.raises(SystemExit, match="added"):
        rewrite(page, RUNS, "m")
    assert page.read_text() == "<!-- measured: machine -->\n<!-- end -->\n"


def test_recording_page_has_a_mark_for_each_measured_table():
    text = DOCUMENT.read_text(encoding="utf-8")
    for name in tables(RUNS, "m"):
        assert text.count(f"<!-- measured: {name} -->\n") == 1
    assert text.count("<!-- measured: ") == text.count("<!-- end -->") == len(tables(RUNS, "m"))
