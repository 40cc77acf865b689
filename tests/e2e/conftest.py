"""A real VS Code with the built extension, on a copy of the example with recorded runs, driven through Chromium.

`tests/e2e/install.sh` installs everything into .cache/e2e; without it, every test here is skipped with a message.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.editor.installed import (
    ARTIFACTS,
    CACHE,
    CHROMIUM,
    CLIENT,
    CODE_SERVER,
    LOG_WRITER,
    NODE,
    PATIENCE,
)
from tests.support.editor.recorded_workspace import Recorded
from tests.support.editor.workbench import RUN_ITEM, Editor

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.tips.enabled": False,
    "chat.disableAIFeatures": True,
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "extensions.ignoreRecommendations": True,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "files.autoSave": "off",
    "git.enabled": False,
    "editor.minimap.enabled": False,
    "window.commandCenter": False,
    # Tests read the terminal's lines, and open a large file without being asked.
    "terminal.integrated.gpuAcceleration": "off",
    "workbench.editorLargeFileConfirmation": 1000,
}
SAYS = {
    "package.json": """{"name": "says", "publisher": "tests", "version": "0.0.1", "engines": {"vscode": "^1.91.0"},
"main": "./says.js", "contributes": {"commands": [{"command": "says.show", "title": "Says: Show"}]}}""",
    "says.js": """const vscode = require("vscode"), fs = require("fs");
exports.activate = ({ subscriptions }) => {
  const channel = vscode.window.createOutputChannel("Says");
  subscriptions.push(channel, vscode.commands.registerCommand("says.show", () => {
    channel.append(fs.readFileSync(vscode.workspace.workspaceFolders[0].uri.fsPath + "/said.txt", "utf8"));
    channel.show();
  }));
};
""",
}
"""A foreign extension whose output channel shows the contents of said.txt."""
MACHINE_SETTINGS = {"clew.python": sys.executable}
"""Settings with paths belong to a machine; the editor reads them from another file."""


def missing() -> str:
    """Return a message about the part of the editor that is not installed, or an empty text."""
    for part in (NODE, CODE_SERVER, CACHE / "python/playwright", CHROMIUM):
        if not part.exists():
            return f"THE END-TO-END TESTS DID NOT RUN: {part} is missing; run tests/e2e/install.sh"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    reason = missing()
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


FAILED: pytest.StashKey[bool] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """Store for the fixtures of a test whether it failed."""
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


def failed(request: pytest.FixtureRequest) -> bool:
    return request.node.stash.get(FAILED, False)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def end(process: subprocess.Popen[str]) -> None:
    """End a process that was started in a new session, with all its children."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def remove(folder: Path) -> None:
    """Kill the processes that work in a folder of this session (relays may outlive an editor), and remove the folder."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place, words = os.readlink(process / "cwd"), (process / "cmdline").read_bytes()
        except OSError:
            continue
        if int(process.name) != os.getpid() and (Path(place).is_relative_to(folder) or os.fsencode(folder) in words):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


# --- the workspace and the editor -----------------------------------------------------------------------------------------


# --- fixtures -------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("e2e")
    try:
        yield Recorded(folder / "chunkstore")
    finally:
        remove(folder)


@pytest.fixture
def tmp_path(tmp_path: Path):
    """Return a folder for the test that is removed also after a failure, since its programs and runs are large."""
    yield tmp_path
    remove(tmp_path)


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the extension package that a user installs, and return a copy: another worker builds it in the same place."""
    with open(CACHE / "vsix.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["npm", "run", "--silent", "vsix"], cwd=CLIENT, check=True, capture_output=True, timeout=300)
        built = max(CLIENT.glob("clew-*.vsix"), key=lambda file: file.stat().st_mtime)
        return Path(shutil.copy(built, tmp_path_factory.mktemp("vsix")))


@pytest.fixture(scope="session")
def expect():
    """Return Playwright's waiting assertions, imported late so that the tests are skipped and not broken without Playwright."""
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=PATIENCE / 2)
    return waiting


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def code_server(tmp_path_factory: pytest.TempPathFactory, vsix: Path, recorded: Recorded):
    """Yield the address of a running VS Code that has the extension and shows the workspace."""
    home = tmp_path_factory.mktemp("code-server")
    (home / "data/User").mkdir(parents=True)
    (home / "data/User/settings.json").write_text(json.dumps(SETTINGS))
    (home / "data/Machine").mkdir()
    (home / "data/Machine/settings.json").write_text(json.dumps(MACHINE_SETTINGS))
    (home / "config.yaml").write_text("")
    command = [str(NODE), str(CODE_SERVER), "--config", str(home / "config.yaml")]
    command += ["--user-data-dir", str(home / "data"), "--extensions-dir", str(home / "extensions")]
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    for name, text in SAYS.items():
        file = home / "extensions/tests.says-0.0.1" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if not LOG_WRITER.exists():
        # An older cache may lack the log writer. Without a compiler the fixture `say` skips its tests.
        node = NODE.parents[1]
        path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            ["npm", "rebuild", "--silent", "@vscode/spdlog"], cwd=CODE_SERVER.parents[2] / "lib/vscode", check=False,
            capture_output=True, timeout=900, env={**os.environ, "PATH": path, "npm_config_nodedir": str(node)},
        )  # fmt: skip
    install = [*command, "--install-extension", str(vsix)]
    subprocess.run(install, check=True, capture_output=True, env=environment, timeout=120)
    port = free_port()
    command += ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    command += ["--disable-workspace-trust", "--reconnection-grace-time", "5", str(recorded.folder)]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, start_new_session=True, text=True, cwd=home
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz", process, home / "log")
        yield f"http://127.0.0.1:{port}/?folder={recorded.folder}"
    finally:
        end(process)
        remove(home)


def wait_for(address: str, process: subprocess.Popen[str], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
    raise AssertionError(f"{address} did not answer: {log.read_text()}")


class Workbench:
    """One page with the editor for all tests of a file, because a workbench takes seconds to start; a failed test gets the
    next one a new page."""

    def __init__(self, browser, address: str, recorded: Recorded) -> None:
        self.browser, self.address, self.recorded = browser, address, recorded
        self.editor: Editor | None = None
        self.after_failure = False

    def open(self) -> Editor:
        if self.editor is None:
            page = self.browser.new_page(viewport={"width": 1500, "height": 940})
            self.editor = Editor(page, self.recorded)
            page.set_default_timeout(PATIENCE)
            page.goto(self.address)
            page.locator(RUN_ITEM, has_text="" if self.after_failure else "after").wait_for(timeout=2 * PATIENCE)
            if self.after_failure:
                self.editor.choose_as_at_first()
                self.after_failure = False
        return self.editor

    def discard(self, picture: str) -> None:
        """Close the page of a failed test after a screenshot."""
        try:
            if self.editor is not None:
                self.editor.photograph(picture)
        finally:
            self.after_failure = True
            self.close()

    def close(self) -> None:
        if self.editor is not None:
            self.editor.page.close()
            self.editor = None


@pytest.fixture(scope="module")
def workbench(browser, code_server: str, recorded: Recorded):
    bench = Workbench(browser, code_server, recorded)
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture
def editor(workbench: Workbench, request: pytest.FixtureRequest):
    try:
        opened = workbench.open()
        opened.reset()
    except Exception:
        workbench.discard(f"failed-{request.node.name}")
        raise
    yield opened
    if failed(request):
        workbench.discard(f"failed-{request.node.name}")


@pytest.fixture
def say(editor: Editor, request: pytest.FixtureRequest):
    """Return a function that shows a line in the output channel of another extension."""
    if not LOG_WRITER.exists():
        pytest.skip(f"THE TEST OF OUTPUT CHANNELS DID NOT RUN: {LOG_WRITER} is missing; run tests/e2e/install.sh")
    file = editor.recorded.folder / "said.txt"

    def write(line: str) -> None:
        file.write_text(line + "\n")
        editor.command("Says: Show")

    yield write
    file.unlink(missing_ok=True)
    if not failed(request):  # after a failure the page is closed
        editor.command("View: Toggle Panel Visibility")


@pytest.fixture(scope="session")
def view(recorded: Recorded, vsix: Path):
    """Yield the address that `clew view` prints for the workspace; `vsix` has rebuilt the panel."""
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", "view", "--no-browser", "--trust", "--run", "failed-write"],
        cwd=recorded.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + (process.stdout.read() if process.poll() is not None else "")
        yield found[0]
    finally:
        end(process)


@pytest.fixture
def browse(browser, view: str, request: pytest.FixtureRequest):
    """Return a function that opens the panel in the plain browser: `browse("view=diff", dark=True)`."""
    pages = []

    def visit(state: str = "", *, dark: bool = False, width: int = 1440, height: int = 900):
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", locale="en-GB"
        )
        page.set_default_timeout(PATIENCE)
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        pages.append((page, problems))
        page.goto(f"{view}#{state}")
        return page

    yield visit
    for number, (page, _) in enumerate(pages):
        try:
            if failed(request):
                ARTIFACTS.mkdir(exist_ok=True)
                page.screenshot(path=str(ARTIFACTS / f"failed-{request.node.name}-{number}.png"))
        finally:
            page.close()
    assert [problem for _, problems in pages for problem in problems] == []
