"""Places in a file edited since the run, and the call hierarchy, in a real VS Code."""

from __future__ import annotations

import re


def test_places_follow_edits_and_changed_lines_are_stale(editor, expect):
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    editor.command("Clew: Why (Log Line under Cursor)")
    step = editor.panel.locator(".step-body").first
    step.wait_for()
    editor.focus_first_group()
    editor.open("chunkstore/server.py", 1)
    editor.focus_text()
    editor.page.keyboard.insert_text("# one\n# two\n# three\n")
    lens = editor.page.locator(".codelens-decoration a", has_text=re.compile(r"^[\d,]+ calls?"))
    expect(lens.first).to_be_visible()
    step.click()
    expect(editor.page.locator(".line-numbers.active-line-number")).to_have_text(str(editor.recorded.logging_line + 3))
    editor.focus_first_group()
    editor.wait_for_cursor("server.py", editor.recorded.logging_line + 3)
    editor.page.keyboard.press("End")
    editor.page.keyboard.type("  # edited")
    expect(editor.page.locator(".view-line", has_text="# edited")).to_be_visible()
    step.click()
    # The text after the line is drawn by the style sheet.
    editor.page.wait_for_function(
        "() => [...document.querySelectorAll('.view-line *')].some(part => "
        "getComputedStyle(part, '::after').content.includes('stale: This was changed or removed'))"
    )
    editor.photograph("stale-place")
    # A renamed function is another function.
    editor.focus_first_group()
    editor.open("chunkstore/server.py", 3 + editor.recorded.line_of("chunkstore/server.py", "def on_write"))
    editor.focus_text()
    editor.page.keyboard.press("End")
    for _ in range(40):
        editor.page.keyboard.press("Backspace")
    expect(editor.page.locator(".codelens-decoration a", has_text="stale: ").first).to_be_visible()
    editor.photograph("stale-lens")


def test_call_hierarchy_shows_recorded_calls(editor, expect):
    editor.open("chunkstore/index.py", editor.recorded.line_of("chunkstore/index.py", "def lookup"))
    expect(editor.page.locator(".codelens-decoration a", has_text="calls").first).to_be_visible()
    editor.focus_text()
    editor.command("Peek Call Hierarchy")
    rows = editor.page.locator(".call-hierarchy .tree .monaco-list-row")
    expect(rows.first).to_contain_text(re.compile(r"[\d,]+ calls?"))
    editor.photograph("call-hierarchy")
    editor.page.keyboard.press("Escape")


def test_call_hierarchy_leads_through_a_started_thread(editor, expect):
    editor.run_item.click()
    editor.pick("shop-after")
    editor.open("shop/stock.py", editor.recorded.line_of("shop/stock.py", "def run"), 9)
    expect(editor.page.locator(".codelens-decoration a", has_text="1 call").first).to_be_visible()
    editor.focus_text()
    editor.command("Peek Call Hierarchy")
    rows = editor.page.locator(".call-hierarchy .tree .monaco-list-row")
    expect(rows.filter(has_text="app.main")).to_contain_text(re.compile(r"1 call · .* · by thread"))
    editor.page.keyboard.press("Escape")
    editor.run_item.click()
    editor.pick("after")
