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


def test_protocol_ts_equals_the_generated_text():
    done = subprocess.run(
        [sys.executable, "-m", "clew.server.protocol.generate_typescript", "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_generate_typescript_check_fails_on_a_stale_file(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "protocol.ts"
    stale.write_text(generate_typescript.generate() + "\n")
    monkeypatch.setattr(generate_typescript, "OUTPUT", stale)
    assert generate_typescript.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert generate_typescript.main([]) == 0
    assert generate_typescript.main(["--check"]) == 0


def test_generate_typescript_defaults_are_optional_in_requests_only(text):
    assert "  maxNodes?: number;" in interface(text, "SliceParams")
    assert "  target: Target;" in interface(text, "SliceParams")
    assert "  hiddenNodes: number;" in interface(text, "SliceResult")
    assert "  root: boolean;" in interface(text, "GraphNode")


def test_generate_typescript_translates_types(text):
    assert '  direction?: "backward" | "forward";' in interface(text, "SliceParams")
    assert "  exitCode: number | null;" in interface(text, "RunRef")
    assert "  problems: string[];" in interface(text, "RunRef")
    assert "  params: unknown;" in interface(text, "OpenMessage")
    # An empty interface would accept anything.
    assert "export type ViewsParams = Record<string, never>;" in text


def test_generate_typescript_turns_docstrings_into_comments(text):
    assert "  /** A part of a log message. */\n  text?: string | null;" in text


def test_generate_typescript_has_types_for_every_method(text):
    for name, (params, result, _) in METHODS.items():
        assert f'  "{name}": {{ params: {params.__name__}; result: {result.__name__} }};' in text
        for cls in (params, result):
            assert re.search(rf"^export (interface|type) {cls.__name__} ", text, re.M)


def test_generate_typescript_unknown_type_is_refused_by_name():
    with pytest.raises(TypeError, match="set"):
        generate_typescript._type(set[int])
