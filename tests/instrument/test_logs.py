"""Log lines: each becomes an event at the place of its call, with the text that handlers would write."""

from __future__ import annotations

import re

import pytest

from clew.records.format.event import FLAG_FAILED, Kind
from clew.records.plan.plan import LogCapture


def lines(run):
    return [(placed.key, placed.channel, placed.text) for placed in run.of(Kind.LOG)]


def test_log_line_is_an_event_with_level_logger_and_text(record):
    run = record(
        """
        import logging

        log = logging.getLogger("app.part")

        def work():
            log.warning("lost %d of %s", 2, [3])
            logging.info("root")
            log.debug("unwanted by the program")
            log.log(25, "between", extra={"more": 1})

        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
        work()
        """
    )
    assert run.stderr.splitlines() == ["WARNING lost 2 of [3]", "INFO root", "Level 25 between"]
    assert lines(run) == [(30, "app.part", "lost 2 of [3]"), (20, "root", "root"), (25, "app.part", "between")]
    first, *_ = run.of(Kind.LOG)
    assert first.function == "work"
    assert (first.site.kind, first.site.module, first.site.qualname) == ("log", "program", "work")
    assert first.site.file.endswith("program.py") and first.site.line == 7


def test_log_site_is_the_logging_call_and_is_defined_once(record):
    run = record(
        """
        import logging

        class Server:
            def serve(self):
                logging.warning("one"); logging.warning("two")
                logging.warning("three")

        for _ in range(3): Server().serve()
        """
    )
    (process,) = run.processes
    sites = [site for site in process.sites.values() if site.kind == "log"]
    assert sorted(site.line for site in sites) == [6, 7]
    assert {site.qualname for site in sites} == {"Server.serve"}
    assert len(run.of(Kind.LOG)) == 9


def test_log_capture_selects_by_level_and_loggers(record):
    source = """
        import logging
        logging.basicConfig(level=0, format="%(message)s")
        for name in ("app", "app.part", "apple", "other"):
            logging.getLogger(name).info(name)
            logging.getLogger(name).error(name.upper())
        """
    run = record(source, logs=LogCapture(level=40, loggers=("app",)))
    assert [text for _, _, text in lines(run)] == ["APP", "APP.PART"]
    assert len(run.stderr.splitlines()) == 8
    assert lines(record(source, logs=None)) == []


def test_log_capture_records_text_after_filters_of_the_logger(record):
    run = record(
        """
        import logging

        def redact(record):
            record.msg = record.msg.replace("secret", "***")
            return "noise" not in record.msg

        log = logging.getLogger("app")
        log.addFilter(redact)
        log.warning("a secret"); log.warning("noise")
        log.disabled = True
        log.warning("off")
        """
    )
    assert [text for _, _, text in lines(run)] == ["a ***"]


def test_log_capture_records_log_records_with_odd_places(record):
    run = record(
        """
        import logging, pathlib

        logging.basicConfig(format="%(message)s")
        for given in (
            {}, {"pathname": pathlib.Path("a.py"), "lineno": "7", "funcName": b"f"}, {"pathname": None, "lineno": -1},
            {"pathname": "/there/b.py", "lineno": 12, "funcName": "g", "module": "b"},
        ):
            logging.getLogger("made").handle(logging.makeLogRecord({"msg": "made", "name": "made", "levelno": 40} | given))
        """
    )
    assert run.stderr == "made\n" * 4
    assert lines(run) == [(40, "made", "made")] * 4
    sites = [placed.process.sites[placed.event.site] for placed in run.of(Kind.LOG)]
    unknown = ("(unknown function)", "", 0)
    assert [(site.qualname, site.file, site.line) for site in sites] == [unknown] * 3 + [("g", "/there/b.py", 12)]
    assert not [problem for process in run.processes for problem in process.problems]


def test_log_message_that_cannot_be_formatted_fails_as_untraced(record):
    source = """
        import logging

        class Broken:
            def __str__(self): raise RuntimeError("broken")

        logging.warning("%d apples", "two")
        logging.warning("%s", Broken())
        logging.warning("\\ud800 fine")
        print("still here")
        """
    traced, untraced = record(source), record(source, environment={"CLEW_RUN": ""})
    assert traced.stdout == "still here\n"
    # The handler's error message is unchanged.
    addresses = re.compile("0x[0-9a-f]+")
    assert addresses.sub("", traced.stderr) == addresses.sub("", untraced.stderr)
    flags = [bool(placed.event.extension.flags & FLAG_FAILED) for placed in traced.of(Kind.LOG)]
    assert flags == [True, True, False]
    assert "%d apples" in traced.of(Kind.LOG)[0].text and "TypeError" in traced.of(Kind.LOG)[0].text


def test_log_ids_append_the_event_to_the_text_once(record):
    run = record(
        """
        import logging, logging.handlers, queue, sys

        lines = queue.Queue()
        log = logging.getLogger("app")
        log.addHandler(logging.handlers.QueueHandler(lines))
        plain = logging.StreamHandler(sys.stdout)
        log.addHandler(plain)
        listener = logging.handlers.QueueListener(lines, logging.StreamHandler(sys.stdout))
        log.warning("one")
        log.warning("two")
        listener.start(); listener.stop()
        """,
        logs=LogCapture(ids=True),
    )
    (process,) = run.processes
    uid = f"{process.header.uid:016x}"
    assert run.stdout.splitlines() == [
        f"one [clew {uid}.1.1]", f"two [clew {uid}.1.2]", f"one [clew {uid}.1.1]", f"two [clew {uid}.1.2]",
    ]  # fmt: skip
    thread = [event for event in process.events(1) if event.kind == Kind.LOG]
    assert [event.extension.text for event in thread] == ["one", "two"]


def test_log_capture_without_ids_leaves_the_text_unchanged(record):
    run = record("import logging; logging.warning('plain')")
    assert run.stderr == "WARNING:root:plain\n"


@pytest.mark.parametrize("way", ["module", "script"])
def test_log_site_of_module_or_script_has_the_name_used_in_patterns(record, way):
    source = "import logging\ndef work(): logging.warning('x')\nwork()\n"
    if way == "module":
        import sys

        run = record(
            "",
            command=[sys.executable, "-m", "package.tool"],
            files={"package/tool.py": source, "package/__init__.py": ""},
        )
        assert run.of(Kind.LOG)[0].site.module == "package.tool"
    else:
        assert record(source).of(Kind.LOG)[0].site.module == "program"
