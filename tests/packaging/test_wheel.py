"""The wheel, installed into an empty environment, records, explains and shows a run without a compiler or Node.

`CLEW_WHEEL=dist/….whl pytest tests/packaging` tests a built wheel; otherwise the tests build one from the checkout.
"""

import json
import os
import signal
import subprocess
import sys
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAM = """\
import logging, threading

def save(name):
    logging.error("Write request failed: %s", name)

thread = threading.Thread(target=save, args=("a",))
thread.start()
thread.join()
"""
EXTENSIONS = ("_core", "_entry", "_codec", "_structure", "_ingest", "_timeline", "_sequitur", "_steps", "_file_malloc")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    given = os.environ.get("CLEW_WHEEL")
    if given:
        return Path(given).resolve()
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            str(folder),
            str(ROOT),
        ],
        env={**os.environ, "CLEW_COMPLETE_BUILD": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-2000:]
    return next(folder.glob("clew-*.whl"))


class Installed:
    """Commands of an environment with clew from a wheel and an otherwise empty PATH."""

    def __init__(self, folder):
        self.folder = folder
        self.bin = folder / "env" / "bin"
        unwanted = ("PYTHON", "CLEW", "VIRTUAL_ENV", "NODE", "npm_", "COVERAGE")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        self.environment["PATH"] = str(self.bin)

    def command(self, *arguments):
        return [str(self.bin / "clew"), *map(str, arguments)]

    def __call__(self, *arguments):
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "env", with_pip=True)
    made = Installed(folder)
    pip = subprocess.run(
        [made.bin / "python", "-m", "pip", "install", "--disable-pip-version-check", "--quiet", str(wheel)],
        cwd=folder,
        env=made.environment,
        capture_output=True,
        text=True,
    )
    assert pip.returncode == 0, pip.stdout + pip.stderr
    (folder / "program.py").write_text(PROGRAM)
    made("run", "--workspace", ".", "--", "python", "program.py")
    return made


def test_wheel_has_panel_and_extensions_but_no_c_sources(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"index.html", "main.js", "main.css", "layout.js", "report.js"} <= {
        name.rpartition("/")[2] for name in names if name.startswith("clew/server/static/")
    }
    built = {name.rpartition("/")[2].partition(".")[0] for name in names if name.endswith(".so")}
    assert built == set(EXTENSIONS)
    assert [name for name in names if name.endswith((".c", ".h"))] == []


def test_wheel_has_every_module_of_the_checkout(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith((".py", ".pyi", ".lark", ".esl"))}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    mapped = {path.name: path.resolve().name for path in (ROOT / ".typecheck/clew").iterdir()}
    expected = {
        f"clew/{path}"
        for path in tracked
        if path.partition("/")[0] in mapped and path.endswith((".py", ".pyi", ".lark", ".esl"))
    }
    expected |= {
        f"clew/{path.removeprefix('api/')}" for path in tracked if path.startswith("api/") and path.endswith(".py")
    }
    assert names == expected


def test_bare_environment_has_no_compiler_and_no_node(installed):
    assert {name for name in ("cc", "gcc", "clang", "node", "npm") if (installed.bin / name).exists()} == set()


def test_installed_wheel_doctor_finds_every_part(installed):
    found = json.loads(installed("doctor", "--workspace", ".", "--json").stdout)
    parts = {each["name"]: each["status"] for each in found["checks"]["clew"]}
    assert found["canRecord"] is True
    assert parts == dict.fromkeys(parts, "ok")


def test_installed_wheel_explains_a_recorded_log_line(installed):
    assert "Write request failed: a" in installed("why", "--workspace", ".", "Write request failed").stdout


def test_installed_wheel_view_serves_page_script_and_requests(installed):
    process = subprocess.Popen(
        installed.command("view", "--no-browser", "--json", "--workspace", "."),
        cwd=installed.folder,
        env=installed.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
            assert lines[-1], "clew view ended"
        panel = json.loads("".join(lines))
        with urllib.request.urlopen(panel["url"], timeout=120) as page:
            assert b"main.js" in page.read()
        base, bearer = f"http://127.0.0.1:{panel['port']}", {"Authorization": f"Bearer {panel['token']}"}
        with urllib.request.urlopen(urllib.request.Request(f"{base}/main.js", headers=bearer), timeout=120) as script:
            assert len(script.read()) > 10_000
        request = urllib.request.Request(
            f"{base}/rpc", b'{"method": "clew/runs"}', {**bearer, "Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert len(json.load(answer)["result"]["runs"]) == 1
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
