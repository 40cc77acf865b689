"""Output lines: each line that the process writes to descriptors 1 and 2 is an event of the line that wrote it."""

from __future__ import annotations

import pytest

from clew.records.format.event import FLAG_OVER, Kind
from clew.records.plan.plan import LogCapture, Redact


def outputs(run):
    return [(fact.key, fact.text) for fact in run.of(Kind.OUTPUT)]


@pytest.fixture
def written(record):
    def run(source, **options):
        result = record(source, adapters=("threads", "outputs"), **options)
        assert result.code == 0, result.stderr
        return result

    return run


def test_output_lines_have_descriptor_text_and_the_line_that_wrote_them(written):
    run = written(
        """
        import os, sys
        def work():
            print("a", 1)
            sys.stderr.write("b\\nc\\n")
            os.write(2, b"d\\n")
            sys.stdout.flush()
            sys.stdout.buffer.write(b"e\\n")
        work()
        """
    )
    assert outputs(run) == [(1, "a 1"), (2, "b"), (2, "c"), (2, "d"), (1, "e")]
    assert [fact.site.line for fact in run.of(Kind.OUTPUT)] == [4, 5, 5, 6, 8]
    assert (run.stdout, run.stderr) == ("a 1\ne\n", "b\nc\nd\n")


def test_partial_lines_are_joined_and_the_last_one_is_recorded_at_the_end(written):
    run = written(
        "print('a', end='')\nprint('b')\nprint('\\r 5 %', end='')\nprint('\\r 50 %', end='')\nprint('\\nend', end='')"
    )
    assert outputs(run) == [(1, "ab"), (1, " 50 %"), (1, "end")]


def test_partial_lines_of_two_threads_are_not_mixed(written):
    run = written(
        """
        import threading
        print("main", end=" ")
        def work(): print("thread")
        thread = threading.Thread(target=work); thread.start(); thread.join()
        print("goes on")
        """
    )
    assert sorted(outputs(run)) == [(1, "main goes on"), (1, "thread")]


def test_long_line_is_cut_and_a_secret_is_redacted(written):
    run = written(
        "print('x' * 500)\nprint('password=hunter2')",
        change=lambda plan: plan._replace(redact=Redact(names=("password",))),
    )
    assert outputs(run) == [(1, "x" * 200), (1, "password=<redacted>")]


def test_line_of_a_log_handler_is_no_output_as_well(written):
    source = "import logging\nlogging.warning('one')\nlogging.getLogger().handlers[0].stream.write('two\\n')"
    run = written("import logging\nlogging.basicConfig()\n" + source, logs=LogCapture())
    assert [fact.text for fact in run.of(Kind.LOG)] == ["one"]
    assert outputs(run) == [(2, "two")]


def test_text_that_does_not_reach_the_descriptors_is_no_output(written):
    run = written(
        """
        import contextlib, io, sys
        with contextlib.redirect_stdout(io.StringIO()) as text: print("hidden")
        with open("file", "w") as file: print("file", file=file)
        sys.stdout = io.StringIO(); print("replaced"); sys.stdout = sys.__stdout__
        assert text.getvalue() == "hidden\\n" and open("file").read() == "file\\n"
        print("shown")
        """
    )
    assert outputs(run) == [(1, "shown")]


def test_outputs_in_a_loop_are_bounded_and_the_rest_is_a_gap(written):
    run = written("for number in range(5000): print(number)")
    missing = sum(gap.key for gap in run.of(Kind.GAP) if gap.event.extension.flags & FLAG_OVER)
    assert len(outputs(run)) + missing == 5000
    assert run.stdout.split() == [*map(str, range(5000))]


@pytest.mark.parametrize("options", [[], ["-u"], ["-X", "utf8"]])
def test_streams_look_and_fail_as_without_clew(written, options):
    import sys

    run = written(
        """
        import io, sys
        print(type(sys.stdout).__name__, io.TextIOWrapper.write.__name__, sys.stdout.write.__self__ is sys.stdout)
        for wrong in (1, None, b"x"):
            try: sys.stdout.write(wrong)
            except TypeError as error: print(error)
        closed = io.TextIOWrapper(io.BytesIO()); closed.close()
        try: closed.write("x")
        except ValueError as error: print(error)
        """,
        command=[sys.executable, *options, "program.py"],
    )
    shown = [text for _, text in outputs(run)]
    assert shown == run.stdout.splitlines()
    assert shown[0] == "TextIOWrapper write True" and "write() argument must be str, not int" in shown[1]
