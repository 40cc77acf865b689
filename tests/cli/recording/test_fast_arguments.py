"""The fast reader of `clew run` arguments equals click, which defines the command."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.commands.record import run
from clew.cli.recording import fast_arguments

WORDS = st.sampled_from(
    """--spec a.esl --name --name= --name=x --budget 3% --budget=none --quota 2GB --keep newest --keep=some --sample 10%
    --off --off=1 --quiet -q -qq -q= --json --jsn --help -h --workspace --workspace=. . /nowhere -- - -x python app.py --na =
    """.split()
    + ["", __file__]
)


def by_click(arguments, monkeypatch):
    """Return the options that click passes to `record`, or None when it does not call it."""
    given = []
    monkeypatch.setattr(run, "record", lambda options: given.append(options) or 0)
    try:
        run.run.main(arguments, prog_name="clew run", standalone_mode=False)
    except Exception:
        assert not given
    return given[0] if given else None


@given(st.lists(WORDS, max_size=7))
def test_fast_arguments_equal_those_of_click(arguments):
    with pytest.MonkeyPatch.context() as monkeypatch:
        found = fast_arguments.read(["run", *arguments])
        if found is not None:
            assert found == by_click(arguments, monkeypatch)


@pytest.mark.parametrize(
    "arguments",
    [
        ["python", "app.py"],
        ["--", "python", "app.py", "--help"],
        ["-q", "--json", "--off", "python", "-q"],
        ["--name", "before", "--budget=none", "--quota", "1GB", "--sample", "10%", "--workspace", ".", "--", "--odd"],
        ["--name", "--", "python"],
        ["--name=", "--name", "last", "x"],
    ],
)
def test_fast_arguments_of_usual_commands_load_no_click(arguments, monkeypatch):
    found = fast_arguments.read(["run", *arguments])
    assert found is not None
    assert found == by_click(arguments, monkeypatch)


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["run"], ["run", "--"], ["run", "--help"], ["run", "--nmae", "x", "app"], ["run", "--name"], ["runs"], ["why", "x"],
        ["run", "--workspace", "/nowhere", "--", "app"], ["run", "--spec", "a.esl", "app"], ["run", "--keep", "newest", "app"],
    ],
)  # fmt: skip
def test_fast_arguments_leave_help_errors_and_rare_options_to_click(arguments):
    assert fast_arguments.read(arguments) is None


def test_fast_arguments_know_every_option_or_leave_it_to_click():
    names = {name for option in run.run.params for name in option.opts}
    assert names - {"command"} == {*fast_arguments._FLAGS, *fast_arguments._VALUES, "--spec", "--keep", "--set"}
    assert set(fast_arguments.Options._fields) == {option.name for option in run.run.params}


def test_run_command_imports_neither_click_nor_its_dependencies(tmp_path):
    code = (
        "import sys; from clew.cli.main import call\n"
        "call(['run', '-q', '--', sys.executable, '-c', '1'])\n"
        "print(sorted({'click', 'inspect', 'dataclasses', 'uuid', 'platform', 'gettext', 'subprocess'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
