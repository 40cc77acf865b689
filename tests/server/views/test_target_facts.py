"""Targets among facts: exceptions by type or message, output lines by their text, and the newest of what nobody caught."""

import pytest

from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame
from clew.records.run.directory import finish_run
from clew.server.protocol.shared import Target
from clew.server.session.session import Session, Task
from clew.server.views.target import NothingFound, find_target
from tests.support.runs.damaged_runs import empty_run

AT = (Frame("/app.py", 3, "price"),)


@pytest.fixture
def find(tmp_path):
    """Return a function that records what `act` does with a thread and returns the title of the target of a text."""

    def run(act, text=None):
        made = empty_run(tmp_path, "facts")
        thread = made.process("app").thread()
        thread.enter("app:work")
        act(thread)
        thread.exit("app:work")
        made.write()
        finish_run(made.folder, made.info, 0, [])
        return find_target(Session(tmp_path), "", Target(text=text), Task()).title

    return run


def raises(thread):
    thread.fact(Kind.EXCEPTION, 7, "KeyError", Exception_("'sku-7'", at=AT))
    thread.fact(Kind.EXCEPTION, 7, "KeyError", Exception_(role="handled"))
    thread.put(Kind.OUTPUT, key=2, text="ERROR no price")
    thread.put(Kind.OUTPUT, key=1, text="goes on")


@pytest.mark.parametrize("text", ["KeyError", "KeyError: 'sku-7'", "sku-7"])
def test_target_text_names_an_exception_finds_where_it_was_raised(find, text):
    assert find(raises, text) == "KeyError: 'sku-7' was raised in price"


def test_target_text_of_a_class_of_the_program_needs_no_module(find):
    def act(thread):
        thread.fact(Kind.EXCEPTION, 7, "__main__.OutOfStock", Exception_("3", at=AT))

    assert find(act, "OutOfStock") == "OutOfStock: 3 was raised in price"


def test_target_text_of_an_output_line_finds_it(find):
    assert find(raises, "goes") == "goes on"


def test_target_text_in_a_log_line_and_an_output_line_finds_the_log_line(find):
    def act(thread):
        thread.log("it goes on", level=20)
        raises(thread)

    assert find(act, "goes") == "INFO it goes on"


def test_target_text_that_nothing_has_is_an_error(find):
    with pytest.raises(NothingFound):
        find(raises, "missing")


def test_target_without_text_is_the_newest_of_uncaught_exceptions_and_error_lines(find):
    def dies(thread):
        raises(thread)
        thread.fact(Kind.EXCEPTION, 8, "ValueError", Exception_("bad", "ended", AT))

    assert find(raises) == "ERROR no price"
    assert find(dies).startswith("ValueError: bad ended thread")
