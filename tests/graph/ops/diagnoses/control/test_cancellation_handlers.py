"""Handlers that catch a cancellation, as the source says."""

import linecache

import pytest

from clew.source.cancellation_handlers import handlers_at, lines_of_calls

SOURCE = """\
async def work(queue, lock):
    try:
        await queue.get()  # raises
    except asyncio.CancelledError:
        log()
        raise
    try:
        await queue.get()  # named
    except (ValueError, asyncio.CancelledError):
        pass
    while True:
        try:
            await queue.get()  # broad
        except ValueError:
            pass
        except:
            continue
    with contextlib.suppress(BaseException):
        await queue.get()  # suppressed
    try:
        await queue.get()  # returns
    finally:
        return 1
    async with lock:
        await queue.get()  # unknown
    async with asyncio.timeout(1), asyncio.TaskGroup() as group:
        await queue.get()  # group
    try:
        async def inner():
            await queue.get()  # inner
    except BaseException:
        pass
    try:
        await queue.get()  # exception
    except Exception:
        pass
"""


@pytest.fixture
def at(tmp_path):
    file = tmp_path / "work.py"
    file.write_text(SOURCE)
    linecache.checkcache(str(file))

    def found(comment, then=0):
        line = next(number for number, text in enumerate(SOURCE.splitlines(), 1) if text.endswith(f"# {comment}"))
        return [(each.text, each.named, each.in_loop) for each in handlers_at(str(file), line, then) or ()]

    return found


@pytest.mark.parametrize(
    ("comment", "handlers"),
    [
        ("raises", []),
        ("named", [("except ValueError, CancelledError", True, False)]),
        ("broad", [("except", False, True)]),
        ("suppressed", [("suppress(BaseException)", False, False)]),
        ("returns", [("return in finally", False, False)]),
        ("unknown", [("with lock", True, False)]),
        ("group", [("with TaskGroup", False, False)]),
        ("inner", []),
        ("exception", []),
    ],
)
def test_handlers_of_a_line_are_those_that_catch_a_cancellation(at, comment, handlers):
    assert at(comment) == handlers


def test_handler_of_a_block_that_was_not_left_does_not_count(at):
    assert at("named", then=8) == []
    assert at("named", then=30) != []
    assert at("broad", then=13) != [], "the loop may have left the block and entered it again"


def test_handlers_are_unknown_without_source(tmp_path):
    assert handlers_at(str(tmp_path / "absent.py"), 3) is None


def test_lines_of_calls_are_found_by_the_name_of_the_function(tmp_path):
    file = tmp_path / "calls.py"
    file.write_text("def a():\n    b()\n    self.b(1)\n    c(b)\ndef d():\n    b()\n")
    assert lines_of_calls(str(file), 1, "b") == (2, 3)
