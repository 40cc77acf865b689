import re
import subprocess
import sys

import pytest

from clew.server.protocol import generate_typescript
from clew.server.protocol.registry import METHODS


@pytest.fixture(scope="module")
def text():
    return generate_typescript.generate()


def interface(text, name):
    return re.search(rf"export interface {name} {{\n(.*?)\n}}", text, re.S).group(1)


def test_the_committed_twin_is_the_generated_one():
    done = subprocess.run(
        [sys.executable, "-m", "clew.server.protocol.generate_typescript", "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stale_twin_fails_the_check(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "protocol.ts"
    stale.write_text(generate_typescript.generate() + "\n")
    monkeypatch.setattr(generate_typescript, "OUTPUT", stale)
    assert generate_typescript.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert generate_typescript.main([]) == 0
    assert generate_typescript.main(["--check"]) == 0


def test_what_a_client_sends_may_leave_out_defaults_and_what_it_gets_may_not(text):
    assert "  maxNodes?: number;" in interface(text, "SliceParams")
    assert "  target: Target;" in interface(text, "SliceParams")
    assert "  hiddenNodes: number;" in interface(text, "SliceResult")
    assert "  root: boolean;" in interface(text, "GraphNode")


def test_types_are_translated(text):
    assert '  direction?: "backward" | "forward";' in interface(text, "SliceParams")
    assert "  exitCode: number | null;" in interface(text, "RunRef")
    assert "  problems: string[];" in interface(text, "RunRef")
    assert "  params: unknown;" in interface(text, "OpenMessage")
    # An empty interface would accept anything.
    assert "export type ViewsParams = Record<string, never>;" in text


def test_docstrings_become_comments(text):
    assert "  /** A part of a log message. */\n  text?: string | null;" in text


def test_every_method_is_typed(text):
    for name, (params, result, _) in METHODS.items():
        assert f'  "{name}": {{ params: {params.__name__}; result: {result.__name__} }};' in text
        for cls in (params, result):
            assert re.search(rf"^export (interface|type) {cls.__name__} ", text, re.M)


def test_an_unknown_type_is_refused_by_name():
    with pytest.raises(TypeError, match="set"):
        generate_typescript._type(set[int])
