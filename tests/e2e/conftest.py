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
    ROOT,
)
from tests.support.runs.damaged_runs import write_torn_run

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
RUN_ITEM = '.statusbar-item[id="clew.clew.run"]'
BASELINE_ITEM = '.statusbar-item[id="clew.clew.baseline"]'
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
class Recorded:
    """The example with three recorded runs, and older ones: of two machines with missing events, and of a shop whose look-ups
    take 3 ms longer after than before. Runs name their source by its path, so every test gets the source at the same place,
    as it was after recording."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = folder / ".vscode/settings.json"
        self.master = folder.with_name(folder.name + "-master")
        shutil.copytree(ROOT / "examples/chunkstore", folder, ignore=shutil.ignore_patterns("__pycache__", ".clew"))
        write_torn_run(folder)
        # An editor's watcher may miss files written right after their folder was made, so the folder is made early.
        self.settings.parent.mkdir()
        self.configure({})
        shutil.copytree(
            ROOT / "tests/support/programs/shop",
            folder,
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )
        for name, slow_ns in (("shop-before", 0), ("shop-after", 3_000_000)):
            self._record(name, "shop.esl", "shop.app", SHOP_SLOW_NS=str(slow_ns))
        for name, story in (("failed-write", "failed-write"), ("before", "slow-job"), ("after", "slow-job")):
            variant = () if name == story else ("--variant", name)
            data = "data/failed" if name == story else f"data/{name}"
            self._record(name, "chunkstore.esl", "chunkstore.scenario", story, *variant, "--data", data)
        shutil.copytree(folder, self.master)
        log = folder / "data/failed/c1.log"
        lines = log.read_text().splitlines()
        self.error = next(line for line in lines if "Write request failed" in line)
        self.log_path = "data/failed/c1.log"
        self.log_line = lines.index(self.error) + 1
        found = re.search(r"server\.py:(\d+)", self.error)
        assert found
        self.logging_line = int(found[1])

    def _record(self, name: str, spec: str, module: str, *arguments: str, **variables: str) -> None:
        command = [sys.executable, "-m", "clew", "run", "--workspace", ".", "--spec", spec, "--name", name]
        # The view "Values" needs writes.
        command += ["--writes"] if spec == "shop.esl" else []
        command += ["--", sys.executable, "-m", module, *arguments]
        environment = os.environ | variables
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr

    def restore(self) -> None:
        """Undo what a test saved; the runs and the server's caches stay."""
        for file in [*self.master.rglob("*.py"), self.master / "chunkstore.esl"]:
            target = self.folder / file.relative_to(self.master)
            if target.read_bytes() != file.read_bytes():
                shutil.copy2(file, target)
        if self.settings.read_text() != "{}":
            self.configure({})

    def configure(self, settings: dict[str, object]) -> None:
        """Replace the settings of the workspace for the rest of the test."""
        self.settings.write_text(json.dumps(settings))

    def line_of(self, path: str, text: str) -> int:
        """Return the number of the first line of a file that has the text."""
        lines = (self.folder / path).read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)


class Editor:
    """The workbench in a page of the browser, used by keyboard and screen like a user does."""

    def __init__(self, page, recorded: Recorded) -> None:
        self.page = page
        self.recorded = recorded

    def command(self, title: str) -> None:
        """Run a command by the palette."""
        self._choose(">" + title, title)

    def open(self, path: str, line: int = 1, column: int = 1) -> None:
        """Open a file of the workspace with the cursor at a line and column, and wait until the cursor is there."""
        name = path.rsplit("/", 1)[-1]
        self._choose(f"{path}:{line}:{column}", name)
        self.wait_for_cursor(name, line, column)

    def _choose(self, text: str, wanted: str) -> None:
        """Type into the palette and take the first entry once it has the wanted text.

        Anything else that takes the keyboard closes the palette, and at first it shows the files of its previous search; it
        is then opened again."""
        box = self.page.locator(".quick-input-widget input[type=text]").first
        row = self.page.locator(".quick-input-list .monaco-list-row", has_text=wanted).first
        for attempt in range(6):
            self.page.keyboard.press("F1")
            try:
                box.wait_for(state="visible", timeout=PATIENCE / 6)
                box.fill(text, timeout=PATIENCE / 6)
                row.wait_for(timeout=PATIENCE / 6)
                break
            except self.timeout:
                if attempt == 5:
                    raise
                self.page.keyboard.press("Escape")
        self.page.keyboard.press("Enter")

    @property
    def timeout(self) -> type[Exception]:
        from playwright.sync_api import TimeoutError as PlaywrightTimeout

        return PlaywrightTimeout

    def wait_for_cursor(self, name: str, line: int, column: int | None = None) -> None:
        """Wait until the editor of a file is active with its cursor at a line, and at a column if given."""
        self.page.locator(f'.tab.active[data-resource-name="{name}"]').first.wait_for(timeout=PATIENCE)
        place = re.compile(rf"Ln {line}, Col {column or ''}")
        self.page.locator(".statusbar-item", has_text=place).first.wait_for(timeout=PATIENCE)

    def pick(self, text: str) -> None:
        """Choose an entry of the open list."""
        row = self.page.locator(".quick-input-list .monaco-list-row", has_text=text).first
        row.wait_for(timeout=PATIENCE)
        for attempt in range(6):
            # The description of an entry under the pointer may cover the entry that is to be chosen.
            self.page.mouse.move(0, 0)
            try:
                row.click(timeout=PATIENCE / 6)
                break
            except self.timeout:
                if attempt == 5:
                    raise

    def focus_first_group(self) -> None:
        """Focus the editors left of the panel. The panel may take the focus at the same moment, so the keys are sent again."""
        place = self.page.locator(".statusbar-item", has_text=re.compile(r"Ln \d+, Col ")).first
        for attempt in range(6):
            self.page.keyboard.press("Control+1")
            try:
                place.wait_for(timeout=PATIENCE / 6)
                return
            except self.timeout:
                if attempt == 5:
                    raise

    def focus_text(self) -> None:
        """Wait until keys go to the text: the palette takes them for a while after its last key."""
        self.command("View: Focus Active Editor Group")
        self.page.locator(".quick-input-widget").first.wait_for(state="hidden", timeout=PATIENCE)
        self.page.locator(".editor-instance .monaco-editor.focused").first.wait_for(timeout=PATIENCE)

    @property
    def run_item(self):
        """The entry of the status bar that names the selected run."""
        return self.page.locator(RUN_ITEM)

    @property
    def baseline_item(self):
        """The entry of the status bar that names the baseline."""
        return self.page.locator(BASELINE_ITEM)

    @property
    def panel(self):
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    def theme(self, *, dark: bool) -> None:
        wanted = self.page.locator(f".monaco-workbench.{'vs-dark' if dark else 'vs'}")
        if wanted.count() == 0:
            self.command("Preferences: Toggle between Light/Dark Themes")
            wanted.wait_for(timeout=PATIENCE)

    def photograph(self, name: str, *, hovering: bool = False) -> None:
        """Write a screenshot; without hovers, unless it is about a hover."""
        ARTIFACTS.mkdir(exist_ok=True)
        if not hovering:
            self.page.mouse.move(2, 2)
        self.page.wait_for_timeout(700)
        self.page.screenshot(path=str(ARTIFACTS / f"{name}.png"))

    def reset(self) -> None:
        """Close all editors and the panel, and restore the files as recorded."""
        self.page.keyboard.press("Escape")
        if self.page.locator(".tab.dirty").count():
            self.command("File: Revert File")
            self.page.locator(".tab.dirty").wait_for(state="detached", timeout=PATIENCE)
        if self.page.locator(".terminal-wrapper").count():
            self.command("Terminal: Kill All Terminals")
            self.page.locator(".terminal-wrapper").first.wait_for(state="detached", timeout=PATIENCE)
        self.command("View: Close All Editors")
        self.page.locator(".tabs-container .tab").first.wait_for(state="detached", timeout=PATIENCE)
        self.recorded.restore()

    def choose_as_at_first(self) -> None:
        """Select the newest run without a baseline, since a failed test may have left another choice."""
        self.page.keyboard.press("Escape")
        if "no baseline" not in self.baseline_item.inner_text():
            self.baseline_item.click()
            self.pick("None")
        if self.run_item.inner_text().split()[-1] != "after":
            self.run_item.click()
            self.pick("after")


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
