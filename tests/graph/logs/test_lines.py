"""Compare the lines of texts and files with Python's `split`."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.logs import lines as lines_of
from clew.graph.logs.lines import Lines, LogFile

TROUBLE = re.compile(r"\b(ERROR|CRITICAL|FATAL|WARN|WARNING)\b")
SOME = ["12:00 ERROR x", "WARNING", "INFO y", "TERRORS", "", "WARN: é", "x FATALITY"]
texts = st.lists(st.one_of(st.sampled_from(SOME), st.text(max_size=20)), max_size=30).map("\n".join)


def troubled(text):
    return [row for row, line in enumerate(text.split("\n")) if TROUBLE.search(line)]


@given(texts.filter(lambda text: text.isascii()))
def test_lines_of_text_equal_split_and_mark_trouble(text):
    lines = Lines.of_text(text)
    assert [lines.line(row) for row in range(len(lines))] == [line.rstrip("\r") for line in text.split("\n")]
    assert lines.troubled.tolist() == troubled(text)


@given(st.lists(texts, max_size=4))
def test_log_file_that_grows_equals_file_read_once(tmp_path_factory, parts):
    path = tmp_path_factory.mktemp("log") / "x.log"
    path.write_bytes(b"")
    grown = LogFile(path)
    for part in parts:
        with path.open("ab") as file:
            file.write(part.encode())
        grown.refresh()
    once = LogFile(path)
    once.refresh()
    assert len(grown) == len(once)
    assert grown.starts.tolist() == once.starts.tolist()
    assert [grown.line(row) for row in range(len(grown))] == [once.line(row) for row in range(len(once))]
    assert set(once.troubled.tolist()) == set(grown.troubled.tolist())


def test_log_file_finds_word_across_two_reads(tmp_path, monkeypatch):
    text = "".join(f"{number} {'ERROR' if number % 7 == 0 else 'INFO'} line\n" for number in range(500))
    (tmp_path / "x.log").write_text(text)
    monkeypatch.setattr(lines_of, "_CHUNK", 37)
    file = LogFile(tmp_path / "x.log")
    file.refresh()
    assert file.troubled.tolist() == troubled(text)
    assert file.line(499) == "499 INFO line"
    assert file.line(500) == file.line(501) == file.line(-1) == ""


@pytest.mark.parametrize("how", ["renamed", "truncated", "overwritten"])
def test_log_file_that_was_rotated_is_read_again(tmp_path, how):
    path = tmp_path / "x.log"
    path.write_text("one\ntwo ERROR\nthree\n")
    file = LogFile(path)
    file.refresh()
    assert file.troubled.tolist() == [1]
    if how == "renamed":
        path.rename(tmp_path / "x.log.1")
    if how == "truncated":
        path.write_text("1 WARNING\n")
    else:
        path.write_text("another 1 WARNING, and more than there was before\nx\ny\nz\n")
    file.refresh()
    assert file.troubled.tolist() == [0]
    assert len(file) == (2 if how == "truncated" else 5)


def test_log_file_with_junk_or_removed_has_empty_lines(tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(bytes(range(256)) * 100 + b"\nERROR \xff\xfe\x00\n")
    file = LogFile(path)
    file.refresh()
    assert file.line(len(file) - 2).startswith("ERROR ")
    path.unlink()
    assert file.line(0) == ""
    with pytest.raises(OSError, match=r"x\.log"):
        file.refresh()


def test_log_file_without_line_ends_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "_CHUNK", 100)
    monkeypatch.setattr(lines_of, "LONGEST", 1000)
    (tmp_path / "x.log").write_bytes(b"x" * 100_000)
    file = LogFile(tmp_path / "x.log")
    file.refresh()
    assert len(file) == 1
    assert file.line(0).startswith("xxx")
