import os

from hypothesis import given
from hypothesis import strategies as st

from clew.server.locations.paths import same_file_key
from clew.server.lsp.positions import line_range, path_of, uri_of, utf16_length


def test_same_file_key_of_symlink_equals_that_of_its_target(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert same_file_key(str(tmp_path / "link" / "a.py")) == same_file_key(
        str(tmp_path / "real" / ".." / "real" / "a.py")
    )


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1))
def test_path_of_uri_of_path_is_the_path(name):
    path = os.path.normpath("/folder/" + name.replace("/", "_"))
    assert path_of(uri_of(path)) == path


def test_path_of_untitled_document_is_empty():
    assert path_of("untitled:Untitled-1") == ""


def test_line_range_turns_trace_lines_into_lines_from_zero():
    assert line_range(7, 2, 5).start.line == 6
    assert line_range(0).start.line == 0


@given(st.text(st.characters(blacklist_categories=["Cs"])))
def test_utf16_length_counts_code_units(text):
    assert utf16_length(text) == len(text) + sum(ord(c) > 0xFFFF for c in text)
