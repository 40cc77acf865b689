"""On a terminal too narrow for a table each row becomes a few lines: texts first, then numbers with their names."""

from rich.console import Console

from clew.cli.output.narrow_tables import is_too_narrow, stacked
from clew.cli.output.options import table

ROWS = [
    ("+1.93 s", "", "32.1 ms", "shelf:Shelf.audit", "planted/shelf.py:80"),
    ("-65.1 ms", "571 µs", "183 µs", "chunkstore.server:ChunkServer.on_disk", "chunkstore/server.py:131"),
    ("", "", "", "and what is said below", ""),
]


def made():
    found = table("change", "before", "after", "function", "source", right=("change", "before", "after"))
    for row in ROWS:
        found.add_row(*row)
    return found


def printed(width):
    console = Console(width=width, color_system=None, markup=False)
    with console.capture() as captured:
        console.print(stacked(width, made()))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_stacked_table_row_has_texts_then_named_numbers():
    assert printed(64) == [
        "shelf:Shelf.audit  planted/shelf.py:80",
        "    change +1.93 s · before – · after 32.1 ms",
        "chunkstore.server:ChunkServer.on_disk  chunkstore/server.py:131",
        "    change -65.1 ms · before 571 µs · after 183 µs",
        "and what is said below",
    ]


def test_stacked_table_breaks_lines_between_numbers_only():
    lines = printed(36)
    assert [line for line in lines if line.startswith("    ")] == [
        "    change +1.93 s · before –",
        "    after 32.1 ms",
        "    change -65.1 ms · before 571 µs",
        "    after 183 µs",
    ]
    assert max(map(len, lines)) <= 36


def test_is_too_narrow_when_numbers_leave_texts_too_little_width():
    # The numbers have 8, 6 and 7 characters, the texts at least 12, with two blanks between columns.
    assert not is_too_narrow(8 + 6 + 7 + 2 * 12 + 4 * 2, made())
    assert is_too_narrow(8 + 6 + 7 + 2 * 12 + 4 * 2 - 1, made())
    short = table("id", "name")
    short.add_row("1", "a")
    assert not is_too_narrow(8, short), "columns with less than that need no more than they have"
