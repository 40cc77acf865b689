"""The table of handlers: each method of the protocol has one, which takes and gives what the protocol says."""

import inspect
import typing

import pytest

from clew.server.codec import RequestError
from clew.server.handlers import HANDLERS, handler
from clew.server.protocol import METHODS
from clew.server.session import Session, Task


def test_every_method_of_the_protocol_has_a_handler_and_nothing_else_has():
    assert list(HANDLERS) == list(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_a_handler_takes_and_gives_what_the_protocol_says(method):
    function = handler(method)
    hints = typing.get_type_hints(function)
    needed = [
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    request, result = METHODS[method]
    assert [hints[name] for name in needed] == [Session, request, Task]
    assert hints["return"] is result


def test_an_unknown_method_is_named_with_those_that_there_are():
    with pytest.raises(RequestError, match=r"there is no method 'clew/none'; there are clew/aggregate, "):
        handler("clew/none")
