"""All C extensions are known, built and used; if one is missing, clew prints one line with what to install."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.records.extensions import ANALYSIS, RECORDING, SECOND_LOOK, missing
from tests.support.extensions import extensions

ROOT = Path(__file__).parents[2]
EXTENSIONS = extensions()
PARTS = [extension.name for extension in EXTENSIONS]
OPTIONAL = "clew.graph.runtime._file_malloc"


def is_built(part):
    return importlib.util.find_spec(part) is not None


def test_c_extensions_compile_every_c_file():
    folders = ("records", "instrument", "graph", "compare")
    written = {path for folder in folders for path in (ROOT / folder).rglob("*.c")}
    built = {ROOT / source for extension in EXTENSIONS for source in extension.sources}
    assert built == written and len(PARTS) >= 8


@pytest.mark.parametrize("part", PARTS)
def test_c_extension_is_built(part):
    assert is_built(part) or part == OPTIONAL


def test_missing_extensions_are_looked_up_as_setup_builds_them():
    assert {*RECORDING, *SECOND_LOOK, *ANALYSIS} == {*PARTS} - {OPTIONAL}
    assert all(extension.optional == (extension.name == OPTIONAL) for extension in EXTENSIONS)
    assert missing() == ""


INSTALL = "apt-get install gcc python3-dev"
MAIN = "from clew.cli.main import main; main({words})"
PYTEST = "import pytest; sys.exit(pytest.main(['--clew', '.']))"


@pytest.mark.parametrize(
    ("program", "without"),
    [
        (MAIN.format(words=["run", "x.py"]), "clew.instrument.recorder._core"),
        (MAIN.format(words=["why"]), "clew.graph.kernel._ingest"),
        (MAIN.format(words=["lsp"]), "clew.compare.patterns._sequitur"),
        (PYTEST, "clew.instrument.recorder._core"),
    ],
    ids=["clew run", "clew why", "clew lsp", "pytest --clew"],
)
def test_command_without_c_extension_prints_one_line_with_advice(program, without, tmp_path):
    done = python(f"import sys; sys.modules[{without!r}] = None; {program}", tmp_path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and not done.stdout
    assert line.startswith("clew: ") and without in line and INSTALL in line


def test_public_name_without_a_c_extension_raises_import_error(tmp_path):
    source = """
import sys; sys.modules["clew.graph.kernel._structure"] = None
import clew
try: clew.open
except ImportError as error: print(error)
"""
    done = python(source, tmp_path)
    assert done.returncode == 0 and not done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("clew: ") and "clew.graph.kernel._structure" in line and INSTALL in line


def python(source, folder):
    """Run a program in a process that is not recorded."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    return subprocess.run(
        [sys.executable, "-c", source], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
