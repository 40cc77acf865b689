"""`make test` and `make test-all` end with what failed, for a log is read from its end."""

import os
import subprocess
import sys
from pathlib import Path

PARTS = Path(__file__).parents[2] / ".ci" / "parts"


def made(folder: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        [str(PARTS), *targets], cwd=folder, env=outside, capture_output=True, text=True, check=False, timeout=120
    )


def test_parts_end_with_names_of_failed_tests_and_targets(tmp_path):
    (tmp_path / "test_bad.py").write_text("def test_good(): pass\ndef test_bad(): assert 0, 'a reason'\n")
    (tmp_path / "Makefile").write_text(
        f"bad:\n\t@{sys.executable} -m pytest -q -rfEs -p no:cacheprovider test_bad.py\n"
        "worse:\n\t@echo 'FAILED test.test_x: ok without clew, failed recorded'; exit 1\n"
        "late:\n\t@seq 300\n"
    )
    done = made(tmp_path, "bad", "worse", "late")
    lines = done.stdout.splitlines()
    end = lines[lines.index("== Failed") + 1 :]
    assert done.returncode == 1
    assert "300" in lines, "the parts that follow a failed one are made"
    assert len(end) == 4
    assert any(line.startswith("FAILED test_bad.py::test_bad") for line in end)
    assert "FAILED test.test_x: ok without clew, failed recorded" in end
    assert any("bad]" in line for line in end) and any("worse]" in line for line in end)


def test_parts_that_pass_say_nothing_of_failures(tmp_path):
    (tmp_path / "Makefile").write_text("good:\n\t@echo fine\n")
    done = made(tmp_path, "good")
    assert (done.returncode, done.stdout) == (0, "fine\n")
