"""What all views of the panel have in common: the way back, copying, stopping, contrast."""

from __future__ import annotations

import re


def test_the_way_back_leads_through_all_views_and_forward_again(browse, expect):
    page = browse("text=Write+request+failed")
    expect(page.locator(".step").first).to_be_visible()
    page.get_by_label("Level of detail").select_option("process")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.locator(".diff-rows tbody tr").first).to_be_visible()
    page.locator(".way").get_by_role("button").first.click()
    expect(page.locator(".way")).to_have_count(0)
    expect(page.get_by_label("Level of detail")).to_have_value("function")
    expect(page.locator(".step").first).to_contain_text("Write request failed")
    page.get_by_role("button", name="Forward", exact=True).click()
    expect(page.get_by_label("Level of detail")).to_have_value("process")
    page.get_by_role("button", name="Forward", exact=True).click()
    expect(page.locator(".diff-rows tbody tr").first).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("go through the rows")


def test_table_drawing_and_link_are_copied(browse, expect):
    page = browse("view=diff&before=before&after=after")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator("g.node").first).to_be_visible()

    def copied(name):
        page.get_by_label("Copy", exact=True).click()
        page.get_by_role("menuitem", name=name).click()
        expect(page.locator(".said")).to_contain_text("clipboard")
        return page.evaluate("navigator.clipboard.readText()")

    lines = copied("CSV").splitlines()
    assert lines[0].startswith("Function,Self time,Change")
    assert any("ChunkIndex.lookup" in line for line in lines)
    drawing = copied("SVG")
    assert drawing.startswith("<svg") and "ChunkIndex.lookup" in drawing and "fill: rgb(" in drawing
    assert "before=before&after=after" in copied("Link")
    page.get_by_label("Copy", exact=True).click()
    page.get_by_role("menuitem", name="PNG").click()
    expect(page.locator(".said")).to_contain_text(re.compile("picture", re.IGNORECASE))


BOXES = "[...document.querySelectorAll('g.node > rect.box')].map(r => r.getBoundingClientRect().toJSON())"


def test_a_drawing_is_zoomed_and_moved_by_the_mouse_and_shown_whole_by_a_key(browse, expect):
    page = browse("text=Write+request+failed")
    expect(page.locator("g.node").first).to_be_visible()

    def first_box():
        return page.evaluate(BOXES)[0]

    def wait_for(condition):
        page.wait_for_function(f"() => {{ const box = {BOXES}[0]; return {condition}; }}")

    drawn = page.locator("g.node").first.locator("xpath=ancestor::*[name()='svg'][1]").bounding_box()
    page.keyboard.press("f")
    whole = first_box()
    x, y = whole["x"] + whole["width"] / 2, whole["y"] + whole["height"] / 2
    page.mouse.move(x, y)
    for _ in range(4):
        page.mouse.wheel(0, -200)
    wait_for(f"box.width > {whole['width'] * 1.2}")
    # What the mouse is at stays there.
    near = first_box()
    assert near["x"] < x < near["x"] + near["width"]
    page.mouse.move(drawn["x"] + 5, drawn["y"] + drawn["height"] - 5)
    page.mouse.down()
    page.mouse.move(drawn["x"] + 65, drawn["y"] + drawn["height"] - 45, steps=4)
    page.mouse.up()
    wait_for(f"Math.abs(box.x - {near['x'] + 60}) < 2 && Math.abs(box.y - {near['y'] - 40}) < 2")
    page.keyboard.press("f")
    wait_for(f"Math.abs(box.width - {whole['width']}) < 1")
    for box in page.evaluate(BOXES):
        assert drawn["x"] <= box["left"] and box["right"] <= drawn["x"] + drawn["width"]
        assert drawn["y"] <= box["top"] and box["bottom"] <= drawn["y"] + drawn["height"]


def test_what_takes_long_is_stopped_and_asked_again(browse, expect):
    page = browse("text=Write+request+failed")
    expect(page.locator(".step").first).to_be_visible()
    held = []
    page.route("**/rpc", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks what it is given
    page.get_by_role("button", name="Effects").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".notice.error")).to_contain_text("Stopped")
    page.unroute("**/rpc")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("g.node").first).to_be_visible()
    expect(page.locator(".notice.error")).to_have_count(0)
    assert held


def test_forced_colours_leave_boxes_and_chosen_things_visible(browse, expect):
    page = browse("text=Write+request+failed")
    page.emulate_media(forced_colors="active")
    page.locator("g.node.root").click()
    expect(page.locator("g.node.selected")).to_have_count(1)
    looks = "e => [getComputedStyle(e).stroke, getComputedStyle(e).strokeWidth, getComputedStyle(e).fill]"
    chosen = page.locator("g.node.selected > rect.box").evaluate(looks)
    other = page.locator("g.node:not(.selected) > rect.box").first.evaluate(looks)
    assert chosen != other
    assert other[0] not in ("none", other[2])
