"""`import clew` is cheap, and an unknown name raises with the known names."""

import subprocess
import sys

import pytest

import clew


def test_import_clew_loads_no_other_module_of_clew():
    code = "import sys; before = set(sys.modules); import clew; print(sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [name for name in eval(loaded) if name.startswith("clew")] == ["clew"]


def test_clew_scope_loads_only_records_and_instrument():
    code = (
        "import sys, clew\n"
        "with clew.scope('work'): pass\n"
        "print({name.split('.')[1] for name in sys.modules if name.startswith('clew.')})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert eval(loaded) <= {"records", "instrument"}


def test_clew_unknown_name_raises_with_the_known_names():
    with pytest.raises(AttributeError, match=r"no attribute 'opne'; it has .*open"):
        clew.opne  # noqa: B018 - the access is the test
