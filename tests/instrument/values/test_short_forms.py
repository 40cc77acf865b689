"""Values of libraries in short, as a person would write them."""

import types

import pytest

from clew.instrument.recorder.redaction import Redaction
from clew.instrument.values.short_forms import ShortForms


def test_pandas_objects_are_told_without_their_internals():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"month": [1, 1, 2], "gross": [10, 20, 30]})
    forms = ShortForms(Redaction(None))
    assert forms.whole(frame) == "DataFrame of 3 rows with month, gross"
    assert forms.whole(frame["gross"]) == "Series of 3 int64"
    assert forms.whole(frame.groupby("month")) == "DataFrameGroupBy"


class Stream:
    def __init__(self) -> None:
        self.items = (number for number in range(3))
        self.size = 3


def test_fields_of_the_interpreters_own_classes_are_left_out():
    forms = ShortForms(Redaction(None))
    assert forms.whole(Stream()) == "Stream(items=<generator>, size=3)"
    assert forms.whole(reversed([1, 2])) == "<list_reverseiterator>"
    assert forms.whole(types.SimpleNamespace(size=3)) == "SimpleNamespace(size=3)"
    assert forms.whole(object()) == "object()"
