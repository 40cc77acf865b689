"""Line maps of known edits find every unchanged line and never confuse two lines."""

import inspect
import itertools
import json
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.server.locations.text_diff import line_map, lines_of
from tests.support.examples import examples

REAL = [inspect.getsource(module) for module in (json.decoder, textwrap, inspect)]


@st.composite
def edited(draw, texts):
    """Draw an old text, a new text, and per old line (from 0) its new place or None; added lines are unique."""
    old = lines_of(draw(texts))
    fresh = itertools.count()
    new, truth = [], [None] * len(old)
    places = draw(st.lists(st.integers(0, len(old) - 1), max_size=6))
    edits = {place: draw(st.sampled_from(["add", "change", "remove", "remove many"])) for place in places}
    gone = 0
    for place, line in enumerate(old):
        edit = edits.get(place)
        if edit == "remove many":
            gone = max(gone, draw(st.integers(2, 30)))
        if edit == "add":
            new += [f"# added {next(fresh)}" for _ in range(draw(st.integers(1, 8)))]
        if gone or edit in ("change", "remove"):
            gone = max(gone - 1, 0)
            if edit == "change":
                new.append(f"# changed {next(fresh)}")
            continue
        truth[place] = len(new)
        new.append(line)
    return old, new or ["# all is gone"], truth


def unique_alignment(old, new):
    """Return the pairs of lines that all shortest edit scripts leave alone, by the textbook table (the oracle)."""

    def table(one, other):
        found = [[0] * (len(other) + 1)]
        for left in one:
            row = [0]
            for place, right in enumerate(other):
                row.append(max(row[-1], found[-1][place + 1], found[-1][place] + (left == right)))
            found.append(row)
        return found

    ahead, back = table(old, new), table(old[::-1], new[::-1])
    best, by_rank = ahead[-1][-1], {}
    for one, left in enumerate(old):
        for other, right in enumerate(new):
            rank = ahead[one][other] + 1
            if left == right and rank + back[len(old) - one - 1][len(new) - other - 1] == best:
                by_rank.setdefault(rank, []).append((one, other))
    return dict(pairs[0] for pairs in by_rank.values() if len(pairs) == 1)


def mapped(old, new):
    found = line_map("\n".join(old), "\n".join(new))
    return [found.new(line + 1) - 1 if found.new(line + 1) else None for line in range(len(old))]


@settings(max_examples=examples(60), deadline=None)
@given(edited(st.sampled_from(REAL)))
def test_line_map_of_edited_real_file_never_confuses_lines(case):
    old, new, truth = case
    got = mapped(old, new)
    stripped = [line.rstrip() for line in old]
    for line, (there, expected) in enumerate(zip(got, truth, strict=True)):
        assert there in (None, expected), (line, old[line])
        if expected is not None and stripped.count(stripped[line]) == 1:
            assert there == expected
    # Of the other lines only those with two possible places are left out.
    kept = [line for line, expected in enumerate(truth) if expected is not None]
    assert sum(got[line] is None for line in kept) <= 0.2 * len(kept) + 40


@settings(max_examples=examples(300), deadline=None)
@given(edited(st.lists(st.sampled_from(["a", "b", "c", "", "f(x)"]), min_size=1, max_size=14).map("\n".join)))
def test_line_map_of_repeated_lines_has_lines_with_one_possible_place(case):
    old, new, truth = case
    got = mapped(old, new)
    sure = unique_alignment(old, new)
    for line, there in enumerate(got):
        assert there in (None, truth[line])
        if line in sure:
            assert there == sure[line] == truth[line]


@given(st.sampled_from(REAL))
def test_line_map_of_unchanged_text_is_the_identity(text):
    count = len(lines_of(text))
    assert line_map(text, text).forward == tuple(range(count + 1))


@given(st.text(), st.text())
def test_line_map_of_any_two_texts_is_the_same_both_ways(old, new):
    found = line_map(old, new)
    pairs = [(line, found.new(line)) for line in range(1, len(lines_of(old)) + 1) if found.new(line)]
    assert pairs == sorted(pairs) and len({there for _, there in pairs}) == len(pairs)
    assert all(found.old(there) == line for line, there in pairs)
    assert all(lines_of(old)[line - 1].rstrip() == lines_of(new)[there - 1].rstrip() for line, there in pairs)
    assert found.new(0) == found.old(0) == found.new(10**6) == 0


def test_line_map_end_of_function_is_not_mapped_to_an_inserted_function():
    old = "def f(x):\n    if x:\n        return 1\n    return None\n\n\ndef g(): pass"
    new = old.replace("def g", "def new(y):\n    print(y)\n    return None\n\n\ndef g")
    assert line_map(old, new).new(4) == 4
    assert line_map(new, old).new(4) in (0, 4)
    assert line_map(new, old).new(9) == 0


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_map_ignores_line_ends(ending):
    old = "a\nb\n\x0cc\nd\u2028e"
    assert line_map(old, old.replace("\n", ending)).forward == (0, 1, 2, 3, 4)


def test_line_map_removed_line_has_a_place_nearby():
    found = line_map("a\nb\nc\nd", "x\na\nd")
    assert (found.new(2), found.near_new(2), found.near_new(3), found.near_new(99)) == (0, 3, 3, 3)
    assert line_map("a", "").near_new(1) == 1
