"""Each method of the protocol has a handler that takes and returns the types of the protocol."""

import inspect
import typing

import pytest

from clew.server.handlers import handler
from clew.server.protocol.codec import RequestError
from clew.server.protocol.registry import METHODS
from clew.server.session.session import Session, Task


@pytest.mark.parametrize("method", METHODS)
def test_handler_has_the_types_of_the_protocol(method):
    function = handler(method)
    hints = typing.get_type_hints(function)
    needed = [
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    request, result, _ = METHODS[method]
    assert len(needed) >= 2
    assert [hints[name] for name in needed] == [Session, request, Task][: len(needed)]
    assert hints["return"] is result


def test_handler_unknown_method_lists_the_known_methods():
    with pytest.raises(RequestError, match=r"unknown method 'clew/none'; expected one of clew/aggregate, "):
        handler("clew/none")
