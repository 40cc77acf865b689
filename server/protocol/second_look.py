"""The request for a second look from the editor and the panel."""

from __future__ import annotations

from dataclasses import dataclass

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef
from clew.server.protocol.views.answer import FailedTest
from clew.server.protocol.views.value import ValueAnswer


@dataclass(frozen=True)
class ValueParams:
    """Asks why a value is what it is, by a second look at a test."""

    test: str = ""
    """The id of the test; "" for the newest one that called the function at `location`, a failed one first, else for the
    newest failed test."""
    expression: str = ""
    """An expression at `location`; "" for the values of the test's failure."""
    location: Location | None = None
    """A line of the present text, as it is saved."""
    run: str = ""
    isLook: bool = True
    """Whether the test runs again. Otherwise the answer says only which test would run, and how long it took."""


@dataclass(frozen=True)
class ValueResult:
    run: RunRef
    test: str
    """The test that ran again, or would; "" if there is none."""
    tookNs: float
    """How long the test took in the run; 0 if that is not known."""
    tests: list[str]
    """Other tests that called the function at the location."""
    expectedNs: float = 0.0
    """How long the second look will take, as an estimate; 0 if that is not known."""
    similar: int = 0
    """How many similar tests the second look runs, too."""
    answer: ValueAnswer | None = None
    message: str = ""
    """A sentence if there is no answer."""
    command: str = ""
    """The command that answers for a program, which clew repeats only with the user's word."""
    failed: FailedTest | None = None
    """The failed test, with what may have made it fail."""


METHODS = {
    "clew/value": Method(ValueParams, ValueResult, "views.value:value_view"),
}
