"""The problems of the spec that `clew run --spec` prints before the program starts."""

import pytest

from clew.cli.recording.plan_options import chosen_plan

SPEC = """\
include standard;
scope shop.** except shop.audit;
scope here:serv;
request shop.app:order as order;
payload far.away:go value x;
"""


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    def run(text, files):
        for name, content in files.items():
            (tmp_path / name).write_text(content)
        (tmp_path / "app.esl").write_text(text)
        monkeypatch.chdir(tmp_path)
        options = dict.fromkeys(("budget", "quota", "sample"))
        assert chosen_plan("clew run", tmp_path / "app.esl", tmp_path, **options) is not None
        return capsys.readouterr().err.splitlines()

    return run


def test_run_spec_patterns_without_source_are_one_warning(printed, tmp_path):
    lines = printed(SPEC, {"here.py": "def serve(): pass\n"})
    spec = tmp_path / "app.esl"
    assert lines == [
        f"{spec}:3:7: warning: no function matches `here:serv`; did you mean `here:serve`?",
        "    scope here:serv;",
        "          ^~~~~~~~~",
        f"{spec}: warning: 4 patterns name functions of `shop` and `far`, whose source is not in {tmp_path}; only the run "
        "shows their matches, or `clew check --workspace FOLDER` for source elsewhere",
    ]


def test_run_spec_single_pattern_without_source_is_a_warning_with_its_place(printed, tmp_path):
    lines = printed("include standard;\nscope shop.**;\n", {"here.py": ""})
    assert lines[0].startswith(f"{tmp_path / 'app.esl'}:2:7: warning: no function of {tmp_path.name} matches `shop.**`")
    assert len(lines) == 3
