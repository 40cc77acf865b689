"""Logs in a real VS Code: in files (also too large for VS Code to share with extensions), terminals and output channels."""

from __future__ import annotations

import pytest

ERROR = "Write request failed"


def test_log_line_hover_shows_its_causes_and_starts_a_walk(editor, expect):
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    # Lenses move the lines below them.
    expect(editor.page.locator(".codelens-decoration a", has_text="walk").nth(1)).to_be_visible()
    line = editor.page.locator(".view-line", has_text=ERROR).first
    line.locator("span span").last.hover()
    told = editor.page.locator(".monaco-hover:visible", has_text="led to it").first
    expect(told).to_contain_text("mark_deleted")
    editor.photograph("hover-log", hovering=True)
    told.locator("a", has_text="Walk from here").click()
    expect(editor.page.locator('.statusbar-item[id="clew.clew.walk"]')).to_contain_text(ERROR)
    editor.command("Clew: Walk: End")


def test_log_lens_of_error_line_starts_a_walk_unless_disabled(editor, expect):
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    lens = editor.page.locator(".codelens-decoration a", has_text="walk")
    expect(lens.first).to_be_visible()
    editor.recorded.configure({"clew.walk.enabled": False})
    expect(lens).to_have_count(0)
    expect(editor.page.locator(".codelens-decoration a", has_text="why · ").first).to_be_visible()
    editor.recorded.configure({})
    lens.first.click()
    expect(editor.page.locator('.statusbar-item[id="clew.clew.walk"]')).to_be_visible()
    editor.command("Clew: Walk: End")


def test_terminal_link_of_logged_line_opens_why(editor, expect):
    editor.command("Terminal: Create New Terminal")
    editor.page.locator(".xterm-helper-textarea").first.wait_for(state="attached")
    editor.page.locator(".xterm-screen").first.click()
    editor.page.keyboard.type(f"grep --color=never '{ERROR}' {editor.recorded.log_path}\n")
    # The command itself has no time and no level.
    line = editor.page.locator(".xterm-rows > div", has_text="ERROR").last
    line.wait_for()
    text = line.locator("span", has_text=ERROR).first
    hover = editor.page.locator(".monaco-hover:visible", has_text="Why?")
    # The terminal asks for links once, where the mouse comes to rest; before clew has opened the run there are none.
    for _ in range(6):
        # The terminal covers its text with a canvas, so the mouse moves by coordinates. A row that is being redrawn has none.
        box = text.bounding_box()
        if box is None:
            editor.page.wait_for_timeout(500)
            continue
        place = (box["x"] + box["width"] - 40, box["y"] + box["height"] / 2)
        editor.page.mouse.move(place[0], place[1] - 100)
        editor.page.mouse.move(place[0] - 50, place[1])
        editor.page.mouse.move(*place)
        try:
            hover.wait_for(timeout=10_000)
            break
        except editor.timeout:
            pass
    else:
        pytest.fail("the terminal showed no link on the logged line")
    editor.page.keyboard.down("Control")
    editor.page.mouse.click(*place)
    editor.page.keyboard.up("Control")
    expect(editor.panel.locator(".step").first).to_contain_text(ERROR)


def test_output_channel_line_definition_is_its_logging_call(editor, expect, say):
    say(editor.recorded.error)
    line = editor.page.locator(".output-view .view-line", has_text=ERROR).first
    line.wait_for()
    # The place named in the line is a link in any document.
    expect(editor.page.locator(".output-view .detected-link").first).to_be_visible()
    line.locator("span span").first.click()
    editor.page.keyboard.press("F12")
    editor.wait_for_cursor("server.py", editor.recorded.logging_line)


def test_output_channel_line_starts_a_walk(editor, expect, say):
    say(editor.recorded.error)
    line = editor.page.locator(".output-view .view-line", has_text=ERROR).first
    line.wait_for()
    line.locator("span span").first.click()
    editor.page.keyboard.press("Control+Alt+w")
    expect(editor.page.locator('.statusbar-item[id="clew.clew.walk"]')).to_contain_text(ERROR)
    editor.wait_for_cursor("server.py", editor.recorded.logging_line)
    editor.command("Clew: Walk: End")


@pytest.fixture
def large_log(editor):
    """Write a log larger than VS Code shares with extensions; yields its path and the line of the error in its middle."""
    path = editor.recorded.folder / "large.log"
    filler = "2001-01-01 00:00:00,000 INFO filler " + "x" * 960 + "\n"
    half = 27_000
    with path.open("w") as file:
        file.write(filler * half)
        file.write(editor.recorded.error + "\n")
        file.write(filler * half)
    assert path.stat().st_size > 50 << 20
    yield path, half + 1
    path.unlink()


def test_large_log_commands_ask_for_a_line_number(editor, expect, large_log):
    path, line = large_log
    editor.open(path.name, line)
    editor.command("Clew: Why (Log Line under Cursor)")
    box = editor.page.locator(".quick-input-widget input[type=text]").first
    editor.page.locator(".quick-input-title", has_text=f"A line of {path.name}").wait_for()
    box.fill(str(line))
    editor.page.keyboard.press("Enter")
    expect(editor.panel.locator(".step").first).to_contain_text(ERROR)
    # A walk asks for a line, too.
    editor.focus_first_group()
    editor.command("Clew: Walk from Here")
    editor.page.locator(".quick-input-title", has_text=f"Where does the walk start? A line of {path.name}").wait_for()
    box.fill(str(line))
    editor.page.keyboard.press("Enter")
    expect(editor.page.locator('.statusbar-item[id="clew.clew.walk"]')).to_contain_text(ERROR)
    editor.command("Clew: Walk: End")
