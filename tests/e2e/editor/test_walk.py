"""Walks from an error line to its root by keys alone, in the real editor and in the panel of the browser."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

WALK_ITEM = '.statusbar-item[id="clew.clew.walk"]'

BEHIND_A_LINE = """text => [...document.querySelectorAll('.view-line span')]
    .some(part => getComputedStyle(part, '::after').content.replaceAll('\u00a0', ' ').includes(text))"""


@pytest.fixture(scope="module")
def chain(recorded):
    """Return the cards of the events that `clew walk` visits from the error line to the root."""
    command = [sys.executable, "-m", "clew", "walk", "--at", f"{recorded.log_path}:{recorded.log_line}", "--json"]
    command += ["--steps", ",".join(["cause"] * 30)]
    done = subprocess.run(command, cwd=recorded.folder, capture_output=True, text=True, check=True, timeout=60)
    cards = [answer["card"] for answer in json.loads(done.stdout) if answer["moved"]]
    assert any("mark_deleted" in card["title"] for card in cards)
    return cards


def test_walk_keys_lead_to_the_root_and_the_editor_follows(editor, expect, chain):
    item = editor.page.locator(WALK_ITEM)
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    editor.focus_text()
    editor.command("Clew: Walk from Here")
    expect(item).to_contain_text("Write request failed")
    editor.wait_for_cursor("server.py", editor.recorded.logging_line)
    editor.focus_text()
    for card in chain[1:]:
        editor.page.keyboard.press("Control+Alt+ArrowLeft")
        editor.wait_for_cursor(card["location"]["path"].rsplit("/", 1)[-1], card["location"]["line"])
        # The title of the event is shown after its line.
        editor.page.wait_for_function(BEHIND_A_LINE, arg=card["title"][:20])
    editor.page.keyboard.press("Control+Alt+ArrowLeft")
    expect(editor.page.locator(".statusbar-item", has_text="no cause of it was recorded").first).to_be_visible()
    editor.focus_text()
    editor.page.keyboard.press("Escape")
    expect(item).to_have_count(0)


def test_walk_keys_make_the_steps_of_their_names(editor, expect):
    """The steps equal those of `clew walk` in a terminal."""
    keys = {
        "previous": "ArrowUp", "next": "ArrowDown", "cause": "ArrowLeft", "effect": "ArrowRight", "out": "PageUp",
        "in": "PageDown", "back": "Backspace", "forward": "Shift+Backspace",
    }  # fmt: skip
    recorded, steps = editor.recorded, ["previous", "next", "out", "in", "cause", "effect", "back", "forward"]
    command = [sys.executable, "-m", "clew", "walk", "--at", f"{recorded.log_path}:{recorded.log_line}", "--json"]
    command += ["--steps", ",".join(steps)]
    done = subprocess.run(command, cwd=recorded.folder, capture_output=True, text=True, check=True, timeout=60)
    told = json.loads(done.stdout)[1:]
    assert [answer["step"] for answer in told] == steps and all(answer["moved"] for answer in told)
    editor.open(recorded.log_path, recorded.log_line)
    editor.focus_text()
    editor.page.keyboard.press("Control+Alt+w")
    item = editor.page.locator(WALK_ITEM)
    expect(item).to_contain_text("Write request failed")
    for step, answer in zip(steps, told, strict=True):
        editor.focus_text()
        editor.page.keyboard.press(f"Control+Alt+{keys[step]}")
        expect(item).to_contain_text(answer["card"]["title"][:40])
    editor.command("Clew: Walk: End")


def test_walk_in_editor_and_panel_follow_each_other(editor, expect, chain):
    editor.open(editor.recorded.log_path, editor.recorded.log_line)
    editor.focus_text()
    editor.command("Clew: Walk from Here")
    editor.page.locator(WALK_ITEM).click()
    panel = editor.panel
    expect(panel.locator("g.node.selected")).to_contain_text("Write request")
    editor.focus_first_group()
    editor.focus_text()
    editor.page.keyboard.press("Control+Alt+ArrowLeft")
    expect(panel.locator(".walk-title b")).to_have_text(chain[1]["title"])
    expect(panel.locator("g.node.selected .steps")).to_contain_text("2")
    # A step in the panel moves the editor.
    panel.locator(".walk-way", has_text="Cause").click()
    expect(editor.page.locator(WALK_ITEM)).to_contain_text(chain[2]["title"][:40])
    panel.get_by_role("button", name="End the walk").click()
    expect(editor.page.locator(WALK_ITEM)).to_have_count(0)
    expect(panel.locator(".walk-bar")).to_have_count(0)


def places(page):
    return {node.get_attribute("data-id"): node.get_attribute("transform") for node in page.locator("g.node").all()}


def test_walk_in_browser_leads_to_the_root_without_moving_nodes(browse, expect, chain):
    page = browse("view=walk&text=Write+request+failed&run=failed-write")
    expect(page.locator("g.node.selected")).to_contain_text("Write request")
    before = places(page)
    for number in range(2, len(chain) + 1):
        page.keyboard.press("ArrowLeft")
        expect(page.locator("g.node.selected .steps")).to_contain_text(str(number))
        now = places(page)
        assert {node: now[node] for node in before} == before
        before = now
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".walk-said.stopped")).to_contain_text("no cause of it was recorded")
    page.keyboard.press("Backspace")
    expect(page.locator(".walk-crumbs [aria-current=step]")).to_have_count(1)
    # The walk continues in other views, and its link leads to it again.
    page.get_by_role("button", name="Why", exact=True).click()
    expect(page.locator(".walk-bar .walk-title")).to_be_visible()
    page.get_by_role("button", name="Show the walk").click()
    expect(page.locator("g.node.selected")).to_have_count(1)
    title = page.locator(".walk-title b").inner_text()
    page.reload()
    expect(page.locator(".walk-title b")).to_have_text(title)


def test_walk_key_w_starts_at_a_node_of_another_view(browse, expect):
    page = browse("text=Write+request+failed&run=failed-write")
    page.locator("g.node.root").click()
    expect(page.locator("g.node.selected")).to_have_count(1)
    page.keyboard.press("w")
    expect(page.locator(".walk-bar .walk-title")).to_be_visible()
    page.get_by_role("button", name="End the walk").click()
    expect(page.locator(".walk-bar")).to_have_count(0)


def test_walk_view_fits_a_narrow_window(browse, expect):
    page = browse("view=walk&text=Write+request+failed&run=failed-write", width=420, height=800)
    expect(page.locator("g.node").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
