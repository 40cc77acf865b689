"""A real VS Code in a browser, used by keyboard and screen as a user does."""

from __future__ import annotations

import re

from tests.support.editor.installed import ARTIFACTS, PATIENCE
from tests.support.editor.recorded_workspace import Recorded

RUN_ITEM = '.statusbar-item[id="clew.clew.run"]'
BASELINE_ITEM = '.statusbar-item[id="clew.clew.baseline"]'


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
