import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.server import protocol
from clew.server.codec import RequestError, decode, encode


def test_a_request_may_leave_out_what_has_a_default():
    params = decode(protocol.SliceParams, {"target": {}})
    assert params == protocol.SliceParams(protocol.Target())


def test_nested_data_becomes_nested_dataclasses():
    params = decode(
        protocol.SliceParams, {"target": {"location": {"path": "/a.py", "line": 3}}, "direction": "forward"}
    )
    assert params.target.location == protocol.Location("/a.py", 3)
    assert params.direction == "forward"


@pytest.mark.parametrize(
    ("cls", "data", "where"),
    [
        (protocol.SliceParams, {}, "params.target is missing"),
        (protocol.SliceParams, [], "an object is needed, not list"),
        (protocol.SliceParams, None, "an object is needed, not nothing"),
        (protocol.SliceParams, {"target": {"event": "7"}}, "params.target.event: int is needed, not str"),
        (protocol.SliceParams, {"target": {"event": True}}, "params.target.event: int is needed, not bool"),
        (protocol.SliceParams, {"target": {}, "direction": "up"}, "'backward', 'forward'"),
        (protocol.SliceParams, {"target": {"location": {"path": "/a"}}}, "params.target.location.line is missing"),
        (protocol.RunRef, {"id": "a", "name": "b", "started": 1, "finished": True, "problems": [1]}, "problems[0]"),
    ],
)
def test_a_wrong_field_is_named(cls, data, where):
    with pytest.raises(RequestError) as caught:
        decode(cls, data)
    assert where in str(caught.value)


def test_a_field_of_a_newer_client_is_ignored():
    assert decode(protocol.SelectRunParams, {"run": "a", "colour": "red"}) == protocol.SelectRunParams("a")


locations = st.builds(protocol.Location, st.text(), st.integers(0), st.integers(0))
targets = st.builds(
    protocol.Target, st.none() | st.integers(), st.none() | st.text(), st.none() | locations, st.none() | st.text()
)
slices = st.builds(
    protocol.SliceParams, targets, st.text(), st.sampled_from(["backward", "forward"]), st.text(), st.integers()
)
refs = st.builds(
    protocol.RunRef,
    st.text(),
    st.text(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none() | st.integers(),
    st.text(),
    st.lists(st.text()),
)


@given(slices | refs)
def test_what_is_encoded_is_decoded_again_through_json(value):
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["target", "run", "event", "location", "line"]), inner)
    ),
)


@given(anything)
def test_any_json_is_decoded_or_refused_by_name(data):
    for request, _ in protocol.METHODS.values():
        try:
            assert isinstance(decode(request, data), request)
        except RequestError as error:
            assert "params" in str(error)
