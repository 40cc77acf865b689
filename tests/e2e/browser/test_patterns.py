"""The Patterns view in a plain browser: times with a brush, single occurrences and the diagram of moves."""

from __future__ import annotations

import re


def centre(locator, share=0.5):
    box = locator.bounding_box()
    return box["x"] + share * box["width"], box["y"] + box["height"] / 2


def test_patterns_view_selected_row_sets_times_and_diagram(browse, expect):
    page = browse("view=patterns&run=after")
    rows, diagram = page.locator(".pattern-rows tbody tr"), page.locator(".pattern-diagram")
    expect(page.locator(".times-lane").first).to_be_visible()
    expect(diagram.locator("g.node.chain").first).to_be_visible()
    name = rows.nth(2).locator(".name").inner_text()
    rows.nth(2).click()
    expect(page.locator(".pattern-rows tr.selected .name")).to_have_text(name)
    expect(page.locator(".pattern-part h3").first).to_contain_text(name)
    called = page.locator(".outline li").first.get_attribute("title")
    expect(diagram.locator("g.node.root.chain")).to_have_attribute("data-id", f"entered {called}")
    expect(diagram.locator(".edge-label.chain").first).to_contain_text(re.compile(r"[1-9][\d,]* / [\d,]+"))
    page.reload()
    expect(page.locator(".pattern-rows tr.selected .name")).to_have_text(name)


def test_patterns_view_brushed_window_limits_the_patterns(browse, expect):
    page = browse("view=patterns&run=after")
    whole = page.locator(".times-whole")
    expect(whole).to_be_visible()
    all_of_it = page.get_by_label("to", exact=True).input_value()
    page.mouse.move(*centre(whole, 0.3))
    page.mouse.down()
    page.mouse.move(*centre(whole, 0.4))
    page.mouse.move(*centre(whole, 0.5))
    page.mouse.up()
    said = page.locator(".window-said")
    expect(said).to_contain_text("refer to this window")
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+"))
    before = page.get_by_label("from", exact=True).input_value()
    page.keyboard.press("d")
    expect(page.get_by_label("from", exact=True)).not_to_have_value(before)
    page.get_by_label("from", exact=True).fill("1 ms")
    page.keyboard.press("Enter")
    expect(page.get_by_label("from", exact=True)).to_have_value(re.compile(r"^0\.001"))
    expect(page).to_have_url(re.compile("from=1000000&"))
    page.reload()
    expect(said).to_contain_text("From 0.001")
    said.get_by_role("button", name="Show the whole run").click()
    expect(said).to_have_count(0)
    assert page.get_by_label("to", exact=True).input_value() == all_of_it


def test_patterns_view_occurrences_are_stepped_and_lead_to_the_timeline(browse, expect):
    page = browse("view=patterns&run=after")
    lane, at = page.locator(".times-lane").first, page.locator(".occurrence b")
    expect(lane).to_be_visible()
    page.keyboard.press("n")
    expect(at).to_have_text(re.compile(r"^\d[\d,]* of \d"))
    number = int(at.inner_text().split(" of ")[0].replace(",", ""))
    page.keyboard.press("n")
    expect(at).to_have_text(re.compile(rf"^{number + 1:,} of "))
    page.keyboard.press("N")
    expect(at).to_have_text(re.compile(rf"^{number:,} of "))
    expect(page.locator(".times .here")).to_have_count(1)
    page.mouse.dblclick(*centre(lane))
    expect(page.locator(".timeline-canvas[data-whole]")).to_be_visible()
    assert re.search(r"view=timeline.*from=\d+&to=\d+", page.url)
