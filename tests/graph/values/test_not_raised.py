"""An expected exception that was not raised leads to the `raise` statements that did not run, and to what decided it."""

import pytest

from tests.support.programs.second_look import Looked

PROGRAM = """
class PriceError(Exception):
    pass


class Refused(Exception):
    pass


def low(price):
    if price < 0:
        raise PriceError(
            "below zero",
        )


def high(price):
    if price > 100:
        raise PriceError


def other(price):
    if price == 7:
        raise KeyError(price)


def unasked(price):
    if price > 1000:
        raise PriceError("never called")


low(5)
high(5)
other(5)
raise AssertionError(MESSAGE)
"""
LOW = "`raise PriceError(…)` (app.py:12) did not run: price < 0 was False, because price is 5 (line 11)"
HIGH = "`raise PriceError` (app.py:19) did not run: price > 100 was False, because price is 5 (line 18)"
KEY = "`raise KeyError(price)` (app.py:24) did not run: price == 7 was False, because price is 5 (line 23)"


def reasons(folder, message):
    """Return the sentences about `raise` statements after a failure with a message."""
    looked = Looked(folder, PROGRAM.replace("MESSAGE", repr(message)))
    return [one.replace(f"{folder}/", "") for one in looked.why_failed(most=40) if "did not run" in one]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("PriceError not raised", [HIGH, LOW]),
        ("PriceError not raised by low", [HIGH, LOW]),
        ("DID NOT RAISE <class '__main__.PriceError'>", [HIGH, LOW]),
        ("(<class 'KeyError'>, <class 'PriceError'>) not raised", [KEY, HIGH, LOW]),
        ("Refused not raised", []),
        ("the price was not raised enough", []),
    ],
)
def test_raise_statements_of_the_expected_classes_are_told_the_newest_first(tmp_path, message, told):
    assert reasons(tmp_path, message) == told
