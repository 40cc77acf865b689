import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.render.library import library_place
from clew.server.text import units


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"), (999, "999 ns"), (1_000, "1 µs"), (1_234, "1.23 µs"), (12_345, "12.3 µs"), (123_456, "123 µs"),
        (999_990, "1 ms"), (1_200_000, "1.2 ms"), (999_960_000, "1 s"), (3_400_000_000, "3.4 s"),
        (59_900_000_000, "59.9 s"), (125_000_000_000, "2 min 05 s"), (-1_500_000, "-1.5 ms"),
    ],
)  # fmt: skip
def test_duration_text_has_three_digits(ns, text):
    assert units.duration(ns) == text


@given(st.floats(1, 5.9e10))
def test_duration_text_is_within_half_a_percent(ns):
    number, unit = units.duration(ns).split(" ")
    back = float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert back == pytest.approx(ns, rel=0.0051, abs=0.5)
    assert float(number) < 1000


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "event", "1 event"),
        (2, "process", "2 processes"),
        (12345, "event", "12,345 events"),
        (0, "entry", "0 entries"),
        (3, "match", "3 matches"),
    ],
)
def test_count_text_has_the_plural_of_its_noun(number, noun, text):
    assert units.count(number, noun) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (0.12, "12 %"), (0.004, "0.4 %"), (0.0001, "<0.1 %"), (1, "100 %"), (0.02, "2 %")]
)
def test_percent_text_is_short(share, text):
    assert units.percent(share) == text


def test_place_text_is_relative_inside_the_working_directory():
    assert units.place("/w/a/b.py", 3, "/w") == os.path.join("a", "b.py") + ":3"
    assert units.place("/other/b.py", 3, "/w") == "/other/b.py:3"
    assert units.place("", 3) == ""


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/usr/lib/python3.12/asyncio/events.py", "<stdlib>/asyncio/events.py"),
        ("/root/.pyenv/versions/3.13.0t/lib/python3.13t/threading.py", "<stdlib>/threading.py"),
        ("/usr/lib/python3/dist-packages/flask/app.py", "<site-packages>/flask/app.py"),
        ("/w/.venv/lib64/python3.11/site-packages/flask/app.py", "<site-packages>/flask/app.py"),
        (r"C:\Python312\Lib\asyncio\events.py", r"<stdlib>/asyncio\events.py"),
        (r"C:\w\.venv\Lib\site-packages\six.py", "<site-packages>/six.py"),
        ("/w/lib/app.py", ""),
        ("/w/Lib/app.py", ""),
        ("/w/python3.11/app.py", ""),
    ],
)
def test_place_text_of_library_file_leaves_out_the_library_folder(path, shown):
    assert library_place(path) == shown
    if shown:
        assert units.place(path, 7, "/w") == f"{shown}:7"


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("pkg.mod:Class.method", "Class.method"),
        ("pkg.mod:f", "mod.f"),
        ("pkg.mod:f.<locals>.g", "f.g"),
        ("pkg.mod", "pkg.mod"),
    ],
)
def test_short_label_drops_packages_and_stays_unambiguous(label, text):
    assert units.short_label(label) == text
