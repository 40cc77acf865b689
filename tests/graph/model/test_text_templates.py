"""Compare templated texts with the texts themselves."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.model import text_templates as module
from clew.graph.model.text_templates import (
    SLOT,
    TESTS,
    TemplatedTexts,
    Templates,
    as_strings,
    from_templates,
    holds,
    to_templates,
)
from tests.support.examples import examples

PIECES = st.sampled_from(
    [
        "user ",
        "17",
        "0",
        " took",
        " ",
        "ms",
        "_",
        "a",
        "B",
        "x9",
        "9x",
        ": ",
        "ab",
        "\0",
        "é",
        "ſ",
        "K",
        "K",
        "\n",
        "%",
        "ß",
        "1",
    ]
)
TEXTS = st.lists(st.one_of(st.lists(PIECES, max_size=7).map("".join), st.text(max_size=6)), max_size=12)
WANTED = st.one_of(st.lists(PIECES, max_size=4).map("".join), st.text(max_size=3))


def templated(texts):
    apart = to_templates(pa.array(texts, pa.large_string()))
    return TemplatedTexts(
        lambda: (apart.templates, apart.numeric), lambda: apart.template, lambda: (apart.parameters, apart.first)
    ), apart


@given(TEXTS, TEXTS)
def test_templates_of_texts_in_parts_equal_templates_of_all_texts(some, others):
    whole = to_templates(pa.array(some + others, pa.large_string()))
    templates = Templates()
    parts = [templates.to_templates(pa.array(texts, pa.large_string())) for texts in (some, others)]
    assert templates.texts == whole.templates
    assert templates.numeric.tolist() == whole.numeric.tolist()
    assert [number for template, _, _ in parts for number in template.tolist()] == whole.template.tolist()
    assert [text for _, parameters, _ in parts for text in parameters.to_pylist()] == whole.parameters.to_pylist()
    counts = [count for _, _, first in parts for count in np.diff(first).tolist()]
    assert counts == np.diff(whole.first).tolist()


@given(TEXTS)
def test_put_together_of_template_and_parameters_returns_text(texts):
    stored, apart = templated(texts)
    rows = np.arange(len(texts))
    assert from_templates(apart, rows).to_pylist() == texts
    assert from_templates(apart, rows[::-2]).to_pylist() == texts[::-2]
    assert [stored[row] for row in range(len(texts))] == [apart.text(row) for row in range(len(texts))] == texts
    for row, text in enumerate(texts):
        words = re.findall(r"[A-Za-z0-9_\0]+", text)
        variable = [word for word in words if re.search(r"[0-9\0]", word)]
        assert apart.parameters[int(apart.first[row]) : int(apart.first[row + 1])].to_pylist() == variable
        assert apart.templates[apart.template[row]].count(SLOT) == len(variable)


def test_take_apart_many_texts_works_in_parts(monkeypatch):
    texts = [f"request {i} of {i % 7} from 10.0.0.{i % 255}" if i % 3 else "nothing" for i in range(1000)]
    monkeypatch.setattr(module, "_AT_ONCE", 64)
    stored, apart = templated(texts)
    assert apart.templates == ["nothing", "request \0 of \0 from \0.\0.\0.\0"]
    assert stored.strings(np.arange(1000)).to_pylist() == texts


@settings(max_examples=examples(300))
@given(TEXTS, WANTED, st.sampled_from(sorted(TESTS)), st.data())
def test_find_in_templated_texts_equals_search_in_plain_texts(texts, wanted, test, data):
    if texts and data.draw(st.booleans()):
        # A part of one of the texts, so that something is found.
        text = data.draw(st.sampled_from(texts))
        begin = data.draw(st.integers(0, len(text)))
        wanted = text[begin : data.draw(st.integers(begin, len(text)))]
    if test.endswith("matches"):
        wanted = re.escape(wanted)
    stored, _ = templated(texts)
    expected = [TESTS[test](text, wanted) for text in texts]
    assert stored.find(test, wanted).tolist() == expected
    assert holds(pa.array(texts, pa.large_string()), test, wanted).tolist() == expected


@pytest.mark.parametrize(("test", "wanted"), [("contains", "\ud800"), ("startswith", "\udcff"), ("ieq", "\ud800")])
def test_find_in_templated_texts_lone_surrogate_matches_nothing(test, wanted):
    stored, _ = templated(["a1", "b"])
    assert stored.find(test, wanted).tolist() == [False, False]


def test_find_in_templated_texts_regex_and_ignored_case():
    texts = ["Failed after 3 s", "failed", "FAILED AFTER 17 S", "ok 3"]
    stored, _ = templated(texts)
    assert stored.find("matches", r"after \d{1} ").tolist() == [True, False, False, False]
    assert stored.find("imatches", r"^failed after \d+").tolist() == [True, False, True, False]
    assert stored.find("icontains", "FAILED").tolist() == [True, True, True, False]
    assert stored.find("iendswith", " s").tolist() == [True, False, True, False]


def test_find_in_templated_texts_skips_parameters_when_irrelevant():
    apart = to_templates(pa.array(["took 17 ms", "lost connection 3"], pa.large_string()))

    def refuse():
        raise AssertionError("the parameters were read")

    stored = TemplatedTexts(lambda: (apart.templates, apart.numeric), lambda: apart.template, refuse)
    assert stored.find("contains", "connection ").tolist() == [False, True]
    assert stored.find("contains", "no such text").tolist() == [False, False]
    assert stored.find("endswith", " ms").tolist() == [True, False]


def test_as_strings_text_cut_inside_character_ends_in_replacement():
    data = np.frombuffer("a€b€"[:3].encode() + "€".encode()[:2], np.uint8)
    assert as_strings(np.array([0, 5, len(data)]), data).to_pylist() == ["a€b", "\N{REPLACEMENT CHARACTER}"]
