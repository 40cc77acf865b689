"""The pytest plugin: `pytest --clew` records the tests into a run of its own, each test a request.

Invariant: without the option nothing is loaded beside this file, and pytest does what it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("clew", "clew: record why things happen")
    group.addoption(
        "--clew",
        action="store_true",
        help="record the tests into .clew of the root folder, each as a request; see `clew why`, `clew view`",
    )
    group.addoption(
        "--clew-plan",
        metavar="FILE",
        help="what to record, as `clew check --plan FILE app.esl` writes it; default: the functions below the root folder",
    )


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Begins before the first conftest is imported: what it imports is recorded, too."""
    options = early_config.known_args_namespace
    if options.clew or options.clew_plan:
        from clew.instrument import tested

        tested.begin(early_config, options.clew_plan)
    yield
