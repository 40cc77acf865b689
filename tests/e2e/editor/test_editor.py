"""clew in a real VS Code, used like a user does, from a lens to the diff."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.support.editor.installed import PATIENCE

LOG_ERROR = "Write request failed"


def ask_why(editor):
    """Return the panel with the causes of the logged error."""
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    editor.command("Clew: Why (Log Line under Cursor)")
    editor.panel.locator(".step").first.wait_for()
    return editor.panel


def test_status_bar_names_the_selected_run(editor, expect):
    expect(editor.run_item).to_contain_text("after")


def test_code_lens_of_function_counts_its_calls(editor, expect):
    line = editor.recorded.line_of("chunkstore/index.py", "def lookup")
    editor.open("chunkstore/index.py", line)
    lens = editor.page.locator(".codelens-decoration a", has_text=re.compile(r"[\d,]+ calls?"))
    expect(lens.first).to_be_visible()


def test_log_line_definition_is_its_logging_call(editor):
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    editor.focus_text()
    editor.page.keyboard.press("F12")
    editor.wait_for_cursor("server.py", editor.recorded.logging_line)


def test_why_command_on_log_line_shows_the_chain(editor, expect):
    panel = ask_why(editor)
    expect(panel.locator(".step").first).to_contain_text(LOG_ERROR)
    expect(panel.locator(".step", has_text="mark_deleted").first).to_be_visible()
    expect(panel.locator("g.node.root")).to_have_count(1)


def test_log_lens_of_error_line_opens_why(editor, expect):
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    lenses = editor.page.locator(".codelens-decoration a", has_text="why")
    expect(lenses.first).to_be_visible()
    # The error is logged after its warning, and no later line has a lens.
    heights = lenses.evaluate_all("lenses => lenses.map((lens) => lens.getBoundingClientRect().y)")
    lenses.nth(heights.index(max(heights))).click()
    expect(editor.panel.locator(".step").first).to_contain_text(LOG_ERROR)


def test_panel_click_on_node_moves_the_editor_to_its_line(editor, expect):
    panel = ask_why(editor)
    expect(panel.locator("g.node.root")).to_be_visible()
    panel.locator(".search input").fill("mark_deleted")
    panel.locator(".search input").press("Enter")
    panel.locator("g.node.match").click()
    editor.page.locator('.tab[data-resource-name="index.py"]').first.wait_for()
    line = editor.recorded.line_of("chunkstore/index.py", "def mark_deleted")
    editor.focus_first_group()
    editor.wait_for_cursor("index.py", line)


@pytest.mark.journey
def test_panel_click_on_step_moves_the_editor_to_its_line(editor):
    panel = ask_why(editor)
    panel.locator(".step-body").first.click()
    editor.page.locator('.tab[data-resource-name="server.py"]').first.wait_for()
    editor.focus_first_group()
    editor.wait_for_cursor("server.py", editor.recorded.logging_line)


def test_panel_selects_the_nodes_of_the_function_under_the_cursor(editor, expect):
    panel = ask_why(editor)
    expect(panel.locator("g.node").first).to_be_visible()
    editor.focus_first_group()
    line = editor.recorded.line_of("chunkstore/index.py", "def mark_deleted")
    editor.open("chunkstore/index.py", line + 2)
    expect(panel.locator("g.node.selected")).to_contain_text("mark_deleted")


def test_status_bar_selects_another_run(editor, expect):
    editor.open("chunkstore/index.py")
    for name in ("failed-write", "after"):
        editor.run_item.click()
        editor.pick(name)
        expect(editor.run_item).to_contain_text(name)


def test_panel_follows_the_selected_run(editor, expect):
    editor.open("chunkstore/index.py")
    editor.command("Clew: Open Panel")
    chosen = editor.panel.locator(".picker.run select")
    for name in ("failed-write", "after"):
        editor.run_item.click()
        editor.pick(name)
        expect(chosen).to_have_value(re.compile(name + "$"))


def test_critical_path_command_opens_the_view(editor, expect):
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    editor.command("Clew: Show Critical Path")
    expect(editor.panel.locator(".segments tbody tr").first).to_be_visible()


def show_torn(editor):
    """Return the panel with the causes of the error in the run that misses events."""
    editor.open("chunkstore/index.py")
    editor.run_item.click()
    editor.pick("torn")
    editor.command("Clew: Open Panel")
    editor.panel.locator(".step", has_text="the answer is wrong").first.wait_for()
    return editor.panel


def test_panel_draws_and_explains_missing_events(editor, expect):
    panel = show_torn(editor)
    # A hatched segment in the node of the server, and an entry among the steps.
    box = panel.locator("g.node", has=panel.locator("rect.gap"))
    expect(box).to_have_count(1)
    expect(box).to_have_attribute("aria-label", re.compile("41 calls of store.look_up in MainThread are missing"))
    expect(panel.locator(".step .gone")).to_contain_text("here 41 calls of store.look_up")
    expect(panel.locator(".step .clock").first).to_contain_text("clock of south corrected by −5 ms, certain to ±200 µs")
    expect(panel.locator(".step .where b", has_text="server @ south").first).to_be_visible()
    # The keyboard alone leads to the explanation.
    panel.get_by_role("button", name="Critical path").first.click()
    line = panel.locator("tr.gap")
    expect(line).to_have_count(1)
    line.focus()
    expect(line).to_have_attribute("aria-label", re.compile("ran too often for the budget"))
    expect(line.locator(".why")).to_be_visible()
    hatched = panel.locator("tr:not(.gap) .timeline rect.gap")
    expect(hatched).to_have_count(1)
    # Recorded segments look different.
    assert hatched.evaluate("gap => getComputedStyle(gap).fill") != panel.locator("rect.wait").first.evaluate(
        "wait => getComputedStyle(wait).fill"
    )
    editor.run_item.click()
    editor.pick("after")


def test_compare_command_shows_the_slower_function(editor, expect):
    editor.open("chunkstore/index.py")
    editor.command("Clew: Compare Two Runs")
    editor.pick("before")
    editor.page.locator(".quick-input-title", has_text="the later run").wait_for()
    editor.pick("after")
    expect(editor.panel.locator(".finding .sentence")).to_contain_text("ChunkIndex.lookup")
    expect(editor.panel.locator(".diff-rows tbody tr").first).to_contain_text("ChunkIndex.lookup")


def choose_baseline(editor, name):
    editor.command("Clew: Choose Baseline")
    editor.page.locator(".quick-input-title", has_text="Run to compare with").wait_for()
    editor.pick(name)


def show_compared(editor, expect):
    """Compare the shop with the run before, and return the lens that shows how much slower the look-up became."""
    editor.run_item.click()
    editor.pick("shop-after")
    choose_baseline(editor, "shop-before")
    editor.open("shop/stock.py", editor.recorded.line_of("shop/stock.py", "def lookup"))
    lens = editor.page.locator(".codelens-decoration a", has_text="since shop-before")
    expect(lens.first).to_be_visible()
    return lens


def stop_comparing(editor):
    choose_baseline(editor, "None")
    editor.run_item.click()
    editor.pick("after")


def test_baseline_shows_slower_functions_until_switched_off(editor, expect):
    marks = editor.page.locator(".squiggly-info")
    editor.open("shop/stock.py")
    expect(marks).to_have_count(0)
    lens = show_compared(editor, expect)
    expect(lens.first).to_have_text(
        re.compile(r"^\+[\d.]+ [mµ]s \(.+\) since shop-before, 20 requests, p < 0\.001 — why\?$")
    )
    expect(marks.first).to_be_visible()
    editor.recorded.configure({"clew.compare.diagnostics": False})
    expect(marks).to_have_count(0)
    expect(lens.first).to_be_visible()
    editor.recorded.configure({"clew.compare.codeLens": False})
    expect(lens).to_have_count(0)
    expect(marks.first).to_be_visible()
    editor.recorded.configure({})
    expect(lens.first).to_be_visible()
    stop_comparing(editor)
    expect(lens).to_have_count(0)
    expect(marks).to_have_count(0)


def test_comparison_lens_opens_its_requests_in_the_panel(editor, expect):
    show_compared(editor, expect).first.click()
    expect(editor.panel.locator(".compare-rows tr.selected").first).to_contain_text("slower")
    expect(editor.panel.locator(".facts li", has_text="Stock.lookup")).to_be_visible()
    expect(editor.panel.locator("g.flow-call.sure", has_text="Stock.lookup")).to_be_visible()
    stop_comparing(editor)


def test_spec_is_coloured_and_its_errors_are_marked(editor, expect):
    editor.open("chunkstore.esl", 1)
    # The text appears before its colours, which come from a worker.
    editor.page.wait_for_function(
        "new Set([...document.querySelectorAll('.view-line')].filter(line => line.textContent.includes('request'))"
        ".flatMap(line => [...line.querySelectorAll('span span')]).map(word => word.className)).size >= 3"
    )
    editor.open("chunkstore.esl", len((editor.recorded.folder / "chunkstore.esl").read_text().splitlines()) + 1)
    editor.page.keyboard.type("scope chunkstore.nothing_is_called_so:f;")
    editor.page.keyboard.press("Enter")
    editor.page.keyboard.type("send ;")
    expect(editor.page.locator(".squiggly-error").first).to_be_visible()


def test_panel_survives_a_reload_of_the_window(editor, expect):
    ask_why(editor).locator("vscode-checkbox").click()
    expect(editor.panel.locator("section.path")).to_be_visible()
    editor.command("Developer: Reload Window")
    editor.page.locator(".monaco-workbench").wait_for(state="detached")
    # Editor, extensions and server restart before the panel can repeat its request.
    expect(editor.panel.locator(".step").first).to_contain_text(LOG_ERROR, timeout=2 * PATIENCE)
    expect(editor.panel.locator("section.path")).to_be_visible()


def test_extension_with_python_without_clew_offers_to_install_it(browser, code_server, expect, tmp_path):
    (tmp_path / ".clew/runs").mkdir(parents=True)
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode/settings.json").write_text('{"clew.python": "/usr/bin/python3"}')
    page = browser.new_page()
    page.goto(f"{code_server.partition('?')[0]}?folder={tmp_path}")
    said = page.locator(".notification-list-item", has_text="/usr/bin/python3")
    expect(said).to_contain_text("has no clew installed")
    expect(said.get_by_role("button", name="Install clew")).to_be_visible()
    page.close()


@pytest.mark.pictures
def test_screenshots_of_editor_are_written(editor, expect):
    """Write screenshots into artifacts/."""
    for name in ("dark", "light"):
        editor.theme(dark=name == "dark")
        panel = ask_why(editor)
        panel.locator(".step-body").first.click()
        expect(panel.locator("g.node.selected")).to_have_count(1)
        editor.photograph(f"editor-why-{name}")
        line = editor.recorded.line_of("chunkstore/index.py", "def lookup")
        editor.focus_first_group()
        editor.open("chunkstore/index.py", line)
        editor.photograph(f"editor-lenses-{name}")
        editor.command("Clew: Compare Two Runs")
        editor.pick("before")
        editor.page.locator(".quick-input-title", has_text="the later run").wait_for()
        editor.pick("after")
        expect(panel.locator(".diff-rows tbody tr").first).to_be_visible()
        editor.photograph(f"editor-diff-{name}")
        editor.command("View: Close All Editors")
        show_compared(editor, expect).first.click()
        expect(panel.locator("g.node").first).to_be_visible()
        editor.photograph(f"editor-compared-{name}")
        stop_comparing(editor)
        editor.command("View: Close All Editors")
        editor.open("chunkstore.esl", 1)
        editor.photograph(f"editor-spec-{name}")
        editor.command("View: Close All Editors")
        show_torn(editor).locator("g.node", has=panel.locator("rect.gap")).click()
        editor.photograph(f"editor-missing-{name}")
        panel.get_by_role("button", name="Critical path").first.click()
        panel.locator("tr.gap").focus()
        editor.photograph(f"editor-missing-path-{name}")
        editor.run_item.click()
        editor.pick("after")
        editor.command("View: Close All Editors")


SLEEPER = """\
import time
def work():
    time.sleep(0.01)
if __name__ == "__main__":
    for _ in range(100_000):
        work()
"""


@pytest.fixture
def sleeper(editor):
    """Add a long-running program and a test to the workspace; their runs are removed afterwards."""
    folder = editor.recorded.folder
    before = set((folder / ".clew/runs").iterdir())
    (folder / "sleeper.py").write_text(SLEEPER)
    (folder / "test_sleeper.py").write_text("import sleeper\n\ndef test_works():\n    sleeper.work()\n")
    yield folder
    for path in [folder / "sleeper.py", folder / "test_sleeper.py"]:
        path.unlink()
    for path in set((folder / ".clew/runs").iterdir()) - before:
        shutil.rmtree(path)


def test_record_lens_records_with_progress_until_stopped(editor, expect, sleeper):
    editor.open("sleeper.py", 4)
    editor.page.locator(".codelens-decoration a", has_text="record").first.click()
    progress = editor.page.locator('.statusbar-item[id="clew.clew.recording"]')
    expect(progress).to_contain_text(re.compile(r"[2-9] s · .* · [\d,]+ events"))
    editor.photograph("recording")
    progress.click()
    expect(progress).to_be_hidden()
    expect(editor.run_item).to_contain_text("sleeper")
    lens = editor.page.locator(".codelens-decoration a", has_text=re.compile(r"[\d,]+ calls"))
    expect(lens.first).to_be_visible()


def test_record_command_records_a_configured_program_and_selects_its_run(editor, expect, sleeper):
    go_on = "import sleeper; [sleeper.work() for _ in range(300)]"
    program = {"name": "my job", "command": ["python", "-c", go_on]}
    editor.recorded.configure({"clew.record.programs": [program]})
    editor.open("sleeper.py", 2)
    lens = editor.page.locator(".codelens-decoration a", has_text="300 calls")
    expect(lens).to_have_count(0)
    offered = editor.page.locator(".quick-input-list .monaco-list-row", has_text="my job")
    for _ in range(6):  # settings are read once the editor has seen the change of their file
        editor.command("Clew: Record…")
        editor.page.locator(".quick-input-title", has_text="What to record").wait_for()
        if offered.count():
            break
        editor.page.wait_for_timeout(2_000)
        editor.page.keyboard.press("Escape")
    offered.click()
    expect(editor.page.locator('.statusbar-item[id="clew.clew.recording"]')).to_contain_text(
        re.compile(r"[1-9] s · .* events?")
    )
    expect(editor.page.locator(".notification-list-item-message", has_text="my job ended")).to_be_visible()
    expect(lens.first).to_be_visible()


def test_record_command_records_the_test_under_the_cursor(editor, expect, sleeper):
    editor.open("test_sleeper.py", 4)
    editor.command("Clew: Record Test under Cursor")
    expect(editor.page.locator(".notification-list-item-message", has_text="test_works ended")).to_be_visible()
    expect(editor.run_item).to_contain_text("tests")
