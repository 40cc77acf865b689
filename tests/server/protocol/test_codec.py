import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.server.protocol.codec import RequestError, decode, encode
from clew.server.protocol.registry import METHODS
from clew.server.protocol.session import SelectRunParams
from clew.server.protocol.shared import Location, RunRef, Target
from clew.server.protocol.views.slice import SliceParams


def test_decode_missing_field_takes_its_default():
    params = decode(SliceParams, {"target": {}})
    assert params == SliceParams(Target())


def test_decode_nested_data_becomes_nested_dataclasses():
    params = decode(SliceParams, {"target": {"location": {"path": "/a.py", "line": 3}}, "direction": "forward"})
    assert params.target.location == Location("/a.py", 3)
    assert params.direction == "forward"


@pytest.mark.parametrize(
    ("cls", "data", "where"),
    [
        (SliceParams, {}, "params.target is missing"),
        (SliceParams, [], "expected an object, got list"),
        (SliceParams, None, "expected an object, got null"),
        (SliceParams, {"target": {"event": "7"}}, "params.target.event: expected int, got str"),
        (SliceParams, {"target": {"event": True}}, "params.target.event: expected int, got bool"),
        (SliceParams, {"target": {}, "direction": "up"}, "'backward', 'forward'"),
        (SliceParams, {"target": {"location": {"path": "/a"}}}, "params.target.location.line is missing"),
        (RunRef, {"id": "a", "name": "b", "started": 1, "finished": True, "problems": [1]}, "problems[0]"),
    ],
)
def test_decode_wrong_field_is_named(cls, data, where):
    with pytest.raises(RequestError) as caught:
        decode(cls, data)
    assert where in str(caught.value)


def test_decode_unknown_field_is_ignored():
    assert decode(SelectRunParams, {"run": "a", "colour": "red"}) == SelectRunParams("a")


locations = st.builds(Location, st.text(), st.integers(0), st.integers(0))
targets = st.builds(
    Target, st.none() | st.integers(), st.none() | st.text(), st.none() | locations, st.none() | st.text()
)
slices = st.builds(SliceParams, targets, st.text(), st.sampled_from(["backward", "forward"]), st.text(), st.integers())
refs = st.builds(
    RunRef,
    st.text(),
    st.text(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none() | st.integers(),
    st.text(),
    st.lists(st.text()),
)


@given(slices | refs)
def test_decode_of_encoded_value_is_the_value(value):
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["target", "run", "event", "location", "line"]), inner)
    ),
)


@given(anything)
def test_decode_any_json_is_accepted_or_refused_by_name(data):
    for request, _, _ in METHODS.values():
        try:
            assert isinstance(decode(request, data), request)
        except RequestError as error:
            assert "params" in str(error)
