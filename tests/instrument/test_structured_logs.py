"""JSON loggers: a line has the id of its event once, as a field, and the event is recorded once."""

from __future__ import annotations

import json
import textwrap

import pytest

from clew.records.format.event import Kind
from clew.records.plan.plan import LogCapture

WITH_IDS = LogCapture(ids=True)

STRUCTLOG = """
    import json, logging, logging.handlers, queue, sys
    import structlog
    from structlog.stdlib import ProcessorFormatter

    def handler(formatter=None):
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(formatter)
        logging.getLogger().addHandler(handler)
        logging.getLogger().setLevel(logging.INFO)

    def to_logging(*processors):
        structlog.configure(
            processors=[structlog.stdlib.filter_by_level, *processors],
            logger_factory=structlog.stdlib.LoggerFactory(), wrapper_class=structlog.stdlib.BoundLogger,
        )
    """
WORK = """
    def work():
        log = structlog.get_logger("app").bind(logger="app")
        log.info('said "no"', n=1)
        log.debug("not at this level")
        logging.getLogger("plain").error("plain %d", 2)
        log.error("three")

    work()
    """
WAYS = {
    "its own loggers": """
        def drop(logger, method, event):
            if method == "debug": raise structlog.DropEvent
            return event
        structlog.configure(processors=[drop, structlog.processors.JSONRenderer()])
        handler(logging.Formatter('{"event": "%(message)s"}'))
        """,
    "rendered, then logging": """
        handler(logging.Formatter('%(message)s'))
        to_logging(structlog.processors.JSONRenderer())
        """,
    "logging with structlog's formatter": """
        handler(ProcessorFormatter(processors=[
            ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()]))
        to_logging(ProcessorFormatter.wrap_for_formatter)
        """,
    "logging with python-json-logger": """
        from pythonjsonlogger.json import JsonFormatter
        handler(JsonFormatter("%(message)s", rename_fields={"message": "event"}))
        to_logging(structlog.stdlib.render_to_log_kwargs)
        """,
}


def program(*parts):
    return "".join(map(textwrap.dedent, parts))


def lines(run):
    return [(placed.key, placed.channel, placed.text) for placed in run.of(Kind.LOG)]


@pytest.mark.parametrize("way", WAYS)
def test_structlog_line_has_the_id_of_its_event_once(record, way):
    run = record(program(STRUCTLOG, WAYS[way], WORK), logs=WITH_IDS)
    assert run.code == 0 and run.stderr == ""
    assert lines(run) == [(20, "app", 'said "no"'), (40, "plain", "plain 2"), (40, "app", "three")]
    assert {(placed.site.module, placed.site.qualname) for placed in run.of(Kind.LOG)} == {("program", "work")}
    (process,) = run.processes
    written = run.stdout.splitlines()
    # Lines that structlog prints itself bypass the handler's buffer, so the order of the two may differ.
    for line in written:
        assert line.count(f"{process.header.uid:016x}") == 1
    if way == "rendered, then logging":
        (plain,) = [line for line in written if "plain" in line]
        assert plain == f"plain 2 [clew {process.header.uid:016x}.1.2]"
        written.remove(plain)
        written.append(json.dumps({"event": "plain 2", "clew": f"{process.header.uid:016x}.1.2"}))
    fields = sorted((json.loads(line) for line in written), key=lambda found: found["clew"])
    assert [(found["event"], found["clew"]) for found in fields] == [
        ('said "no"', f"{process.header.uid:016x}.1.1"),
        ("plain 2", f"{process.header.uid:016x}.1.2"),
        ("three", f"{process.header.uid:016x}.1.3"),
    ]


@pytest.mark.parametrize("way", WAYS)
def test_structlog_without_ids_writes_unchanged_lines(record, way):
    source = program(STRUCTLOG, WAYS[way], WORK)
    traced, untraced = record(source, logs=LogCapture()), record(source, environment={"CLEW_RUN": ""})
    assert (traced.stdout, traced.stderr) == (untraced.stdout, untraced.stderr)
    assert [text for _, _, text in lines(traced)] == ['said "no"', "plain 2", "three"]


def test_structlog_processor_redacts_recorded_text_and_fails_as_untraced(record):
    source = program(
        STRUCTLOG,
        """
        def redact(logger, method, event):
            event["event"] = event["event"].replace("secret", "***")
            return event
        def render(logger, method, event):
            return json.dumps({**event, "n": 1 / event["n"]})
        structlog.configure(processors=[redact, render])
        log = structlog.get_logger()
        log.info("a secret", n=1)
        try:
            log.info("broken", n=0)
        except ZeroDivisionError:
            import traceback
            print(len(traceback.format_exc().splitlines()))
        """,
    )
    traced, untraced = record(source), record(source, environment={"CLEW_RUN": ""})
    assert traced.stdout == untraced.stdout
    assert [text for _, _, text in lines(traced)] == ["a ***", "broken"]


def test_json_line_from_a_queue_has_its_id_once(record):
    run = record(
        """
        import logging, logging.handlers, queue, sys
        from pythonjsonlogger.json import JsonFormatter

        entries = queue.Queue()
        log = logging.getLogger("app")
        log.addHandler(logging.handlers.QueueHandler(entries))
        target = logging.StreamHandler(sys.stdout)
        target.setFormatter(JsonFormatter("%(message)s"))
        listener = logging.handlers.QueueListener(entries, target)
        log.warning("one")
        log.warning("two", extra={"clew": "the program's own"})
        listener.start(); listener.stop()
        """,
        logs=WITH_IDS,
    )
    (process,) = run.processes
    assert [json.loads(line) for line in run.stdout.splitlines()] == [
        {"message": "one", "clew": f"{process.header.uid:016x}.1.1"},
        {"message": "two", "clew": "the program's own"},
    ]


def test_json_format_string_stays_json_with_ids(record):
    run = record(
        """
        import logging, sys
        logging.basicConfig(stream=sys.stdout, format='{"level": "%(levelname)s", "message": "%(message)s"}')
        logging.warning("one")
        """,
        logs=WITH_IDS,
    )
    (process,) = run.processes
    assert json.loads(run.stdout) == {
        "level": "WARNING", "message": "one", "clew": f"{process.header.uid:016x}.1.1",
    }  # fmt: skip
