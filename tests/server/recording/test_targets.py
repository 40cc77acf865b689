"""The programs, tests and typed commands that can be recorded, and that their commands run unchanged."""

import subprocess
import sys
import textwrap

import pytest

from clew.records.run.directory import list_runs
from clew.server.lsp.settings import Program, Settings, read
from clew.server.protocol.recording import ProgressParams, RecordableParams
from clew.server.recording.progress import progress
from clew.server.recording.targets import Entry, around, entries, recordables
from clew.server.session.session import Session, Task

TESTS = textwrap.dedent(
    """
    import pytest
    from unittest import TestCase

    @pytest.mark.parametrize("a", [1, 2])
    def test_plain(a):
        assert a

    class TestShop:
        def setup_method(self): ...
        async def test_buys(self): ...
        class TestInner:
            def test_deep(self): ...

    class Books(TestCase):
        def test_counts(self): ...

    class Helper:
        def test_nothing(self): ...

    if __name__ == "__main__":
        pytest.main()
    """
)


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path)


def listed(session, **params):
    return recordables(session, RecordableParams(**params)).recordables


def test_entries_equal_the_tests_that_pytest_collects(tmp_path):
    (tmp_path / "test_shop.py").write_text(TESTS)
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "test_shop.py"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    collected = {line.split("::", 1)[1].split("[")[0] for line in told.splitlines() if "::" in line}
    found = {entry.name for entry in entries("test_shop.py", TESTS)}
    classes = {name.rsplit("::", 1)[0] for name in collected if "::" in name}
    assert found - {""} == collected | classes


def test_entry_around_line_is_the_innermost_test():
    lines = TESTS.splitlines()
    found = entries("test_shop.py", TESTS)

    def at(text):
        line = next(number for number, each in enumerate(lines, 1) if text in each)
        entry = around(found, line)
        return entry and entry.name

    assert at("parametrize") == at("assert a") == "test_plain"
    assert at("class TestShop") == at("def setup_method") == "TestShop"
    assert at("test_buys") == "TestShop::test_buys"
    assert at("test_deep") == "TestShop::TestInner::test_deep"
    assert at("test_counts") == "Books::test_counts"
    assert at("import pytest") is None


def test_entries_of_unparsable_text_or_file_without_tests_are_empty():
    assert entries("test_shop.py", "def test_(:") == ()
    assert entries("shop.py", "def test_plain(): ...") == ()
    assert entries("shop.py", 'if "__main__" == __name__: ...') == (Entry(1, ""),)


def test_recordables_list_the_test_at_the_cursor_then_configured_programs(session, tmp_path):
    (tmp_path / "test_shop.py").write_text(TESTS)
    session.programs = (Program("server", ("python", "-m", "shop"), "src", ("PORT=1",), "shop.esl"),)
    found = listed(session, path=str(tmp_path / "test_shop.py"), line=7)
    assert [one.kind for one in found] == ["test", "configured", "tests", "file"]
    assert found[0].command == [sys.executable, "-m", "pytest", "--clew", "test_shop.py::test_plain"]
    server = found[1]
    assert server.command == [
        sys.executable, "-m", "clew", "run", "--workspace", str(tmp_path), "--spec", str(tmp_path / "shop.esl"), "--",
        sys.executable, "-m", "shop",
    ]  # fmt: skip
    assert (server.cwd, server.environment) == (str(tmp_path / "src"), ["PORT=1"])


def test_recordables_of_project_come_from_pyproject_and_main_modules(session, tmp_path):
    for name in ("app/__main__.py", "src/lib/__main__.py", "tests/__main__.py", "manage.py", "only.esl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "pyproject.toml").write_text('[project.scripts]\npytest = "x:y"\nnot-installed-here = "x:y"\n')
    found = listed(session)
    assert {one.name: one.kind for one in found} == {
        "pytest": "script", "app": "package", "lib": "package", "manage.py": "file", "all tests": "tests",
    }  # fmt: skip
    assert found[2].environment == ["PYTHONPATH=src"]
    assert "only.esl" in found[1].detail
    (tmp_path / "second.esl").write_text("")
    assert "--spec" not in listed(session)[0].command


def test_recordables_typed_command_is_split_but_not_expanded(session):
    (typed,) = listed(session, command="python 'my app.py' $HOME")
    assert typed.command[-3:] == [sys.executable, "my app.py", "$HOME"]
    refused = recordables(session, RecordableParams(command="python 'app.py"))
    assert not refused.recordables and "check its quotes" in refused.message


def test_recordables_without_a_target_explain_the_reason(session, tmp_path):
    assert "no test at the cursor" in recordables(session, RecordableParams(kind="test")).message
    assert "clew.record.programs" in recordables(session, RecordableParams()).message


def test_progress_of_recording_counts_its_events_and_errors(session, tmp_path):
    (tmp_path / "app.py").write_text(
        "import logging\ndef work():\n    logging.error('no')\nif __name__ == '__main__':\n    work()\n"
    )
    (what,) = listed(session, path=str(tmp_path / "app.py"), kind="file")
    program = subprocess.Popen(what.command, cwd=what.cwd, stderr=subprocess.DEVNULL)
    assert program.wait(60) == 0
    now = progress(session, ProgressParams(program.pid, look=True), Task())
    assert now.run is not None and now.run.finished and now.run.exitCode == 0
    assert (now.processes, now.looked, now.errors, now.warnings) == (1, True, 1, 0)
    assert now.events > 0 and now.slowest.endswith("work") and now.elapsedNs > 0 and now.bytes > 0
    assert progress(session, ProgressParams(1), Task()).run is None
    assert progress(session, ProgressParams(), Task()).run is None, "none goes on"
    assert len(list_runs(tmp_path)) == 1


def test_settings_programs_are_read():
    programs = [
        {"command": "python -m 'my app'"},
        {"name": "x", "command": ["a", "b c"], "cwd": "s", "env": {"A": "1"}, "spec": "e.esl"},
    ]
    settings, problems = read({"record": {"programs": programs, "spec": " a.esl "}})
    assert not problems and settings.record_spec == "a.esl"
    assert settings.programs == (
        Program("python -m 'my app'", ("python", "-m", "my app")),
        Program("x", ("a", "b c"), "s", ("A=1",), "e.esl"),
    )


@pytest.mark.parametrize(
    "wrong",
    [{}, [3], [{"command": ""}], [{"command": "'"}], [{"command": ["a", 1]}], [{"command": "a", "env": {"A": 1}}],
     [{"command": "a", "cwd": 3}], [{"command": "a", "env": []}]],
)  # fmt: skip
def test_settings_invalid_programs_are_named_and_the_rest_is_read(wrong):
    settings, problems = read({"record": {"programs": wrong}, "baseline": "main"})
    assert settings == Settings(baseline="main")
    (problem,) = problems
    assert "clew.record.programs" in problem and "its default is used" in problem
