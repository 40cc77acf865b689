"""The pytest plugin: `pytest --clew` records the tests into a new run, each test as a request.

Options have the same names on the command line (`--clew-keep 5`) and in pytest's configuration (`clew_keep = 5`).
Invariant: without the option, this file loads no other module of clew, and pytest works as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

_OPTIONS = (
    ("plan", "FILE", "", "plan, written by `clew check --plan FILE app.esl`; default: the functions below rootdir"),
    ("baseline", "REF", "", "compare with the saved sessions of a revision (main, HEAD~3, a run's id)"),
    ("fail-on", "WHAT", "", "fail the session on changes: slower, slower:20%%, structure, or several separated by commas"),
    ("summary", "FILE", "", "write the comparison as Markdown; default: the file in $GITHUB_STEP_SUMMARY"),
    ("keep", "N", "20", "number of sessions to keep without uncommitted changes, and the same number with"),
)  # fmt: skip
"""Name, value, default, help."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("clew", "clew: record why things happen")
    group.addoption(
        "--clew",
        action="store_true",
        default=None,
        help="record the tests into .clew of the root folder, each as a request; see `clew why`, `clew view`",
    )
    group.addoption(
        "--no-clew", dest="clew", action="store_false", help="do not record the tests; overrides the configuration"
    )
    group.addoption(
        "--clew-writes",
        action="store_true",
        default=None,
        help="also record what functions write to attributes, containers, variables, rows of SQLite and keys of redis",
    )
    parser.addini("clew", "record the tests, as --clew does", type="bool", default=False)
    parser.addini("clew_writes", "record writes, as --clew-writes does", type="bool", default=False)
    parser.addini(
        "clew_second_look", "let `clew why --value` run a failed test again (default: true)", type="bool", default=True
    )
    for name, value, default, text in _OPTIONS:
        group.addoption(f"--clew-{name}", metavar=value, help=text)
        parser.addini(f"clew_{name.replace('-', '_')}", text.replace("%%", "%"), default=default)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clew_no_second_look: `clew why --value` must not run this test again")


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Begin before the first conftest is imported, so that its imports are recorded, too."""
    options = early_config.known_args_namespace
    enabled = options.clew
    if enabled is None:
        implied = options.clew_plan is not None or options.clew_baseline is not None
        enabled = implied or early_config.getini("clew")
    if enabled:
        from clew.records.extensions import RECORDING, missing

        if absent := missing(RECORDING):
            raise SystemExit(f"clew: {absent}")
        from clew.instrument.testing import session

        session.begin(early_config)
    yield
