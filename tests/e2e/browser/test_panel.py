"""Features common to all views of the panel: history, copying, search, zoom, stopping and contrast."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest


def test_panel_history_leads_back_and_forward_through_views(browse, expect):
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
    expect(page.get_by_role("dialog")).to_contain_text("select a row")


def test_panel_copies_table_drawing_and_link(browse, expect):
    page = browse("view=diff&before=before&after=after")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator("g.node").first).to_be_visible()

    def copied(name):
        page.get_by_label("Copy", exact=True).click()
        page.get_by_role("menuitem", name=name).click()
        # The message about the copy before stays until this one is made.
        expect(page.locator(".said")).to_have_text(re.compile(f"Copied.*{name}", re.IGNORECASE))
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


@pytest.mark.parametrize(
    ("state", "ready", "named"),
    [
        ("view=path&text=Write+request+failed", ".segments tbody tr", "client client"),
        ("view=timeline&run=after", ".timeline-canvas[data-whole]", "Cluster.start"),
    ],
    ids=["path", "timeline"],
)
def test_panel_copies_html_and_canvas_drawings_as_svg(browse, expect, state, ready, named):
    page = browse(state)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator(ready).first).to_be_visible()
    page.get_by_label("Copy", exact=True).click()
    page.get_by_role("menuitem", name="SVG").click()
    expect(page.locator(".said")).to_contain_text("SVG")
    drawing = page.evaluate("navigator.clipboard.readText()")
    texts = [text.text or "" for text in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]
    assert any(named in text for text in texts)
    wide = page.evaluate(
        """async text => {
            const image = new Image();
            image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
            await image.decode();
            return image.naturalWidth;
        }""",
        drawing,
    )
    assert wide > 800


@pytest.mark.parametrize(
    ("state", "ready"),
    [
        ("view=path&text=Write+request+failed", ".segments tbody tr"),
        ("view=aggregate&level=function", "g.node"),
        ("view=diff&before=before&after=after", ".diff-rows tbody tr"),
        ("view=compare&before=before&after=after", ".compare-rows tbody tr"),
        ("view=suspects&before=shop-before&after=shop-after", ".suspect-rows tbody tr"),
        ("view=patterns&run=after", ".pattern-rows tbody tr"),
        ("view=timeline&run=after", ".timeline-canvas[data-whole]"),
        ("text=Write+request+failed", "g.node"),
        ("view=walk&text=Write+request+failed", "g.node"),
    ],
    ids=["path", "aggregate", "diff", "requests", "suspects", "patterns", "timeline", "why", "walk"],
)
def test_panel_search_works_in_every_view_of_a_run(browse, expect, state, ready):
    page = browse(state)
    expect(page.locator(ready).first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("no such thing")
    expect(page.locator(".search output")).to_have_text(re.compile("none|^0"))
    page.locator("#search").fill("o")
    expect(page.locator(".search output")).to_have_text(re.compile("^[1-9]"))
    page.keyboard.press("Escape")
    expect(page.locator(".search output")).to_have_count(0)


def test_critical_path_search_filters_rows_and_enter_selects_the_next(browse, expect):
    page = browse("view=path&text=Write+request+failed")
    rows = page.locator(".segments tbody tr")
    expect(rows.first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("connection.")
    expect(page.locator(".segments tr.selected")).to_have_count(0)
    names = set(page.locator(".segments .name").all_inner_texts())
    assert len(names) > 1 and all(name.startswith("Connection.") for name in names)
    page.keyboard.press("Enter")
    chosen = page.locator(".segments tr.selected .name").first
    before = chosen.inner_text()
    page.keyboard.press("Enter")
    expect(chosen).not_to_have_text(before)
    page.get_by_role("tab", name="By label").click()
    expect(page.locator(".search output")).to_have_text(re.compile(r"of \d+$"))


def test_pattern_diagram_is_zoomed_by_keys(browse, expect):
    page = browse("view=patterns&run=after")
    diagram = page.locator(".pattern-diagram g.content")
    expect(page.locator("g.node").first).to_be_visible()
    for key in ("f", "+", "-"):
        before = diagram.get_attribute("transform") if key != "f" else None
        page.keyboard.press(key)
        expect(diagram).not_to_have_attribute("transform", before or "")


BOXES = "[...document.querySelectorAll('g.node > rect.box')].map(r => r.getBoundingClientRect().toJSON())"


def test_panel_drawing_is_zoomed_and_panned_by_mouse_and_fitted_by_key(browse, expect):
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
    # The point under the mouse stays there.
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


def held_requests(page):
    """Hold all later requests of the page without an answer, and return them."""
    held = []

    def hold(route):
        held.append(route)

    page.route("**/rpc", hold)
    return held


def test_panel_slow_request_is_stopped_and_repeated(browse, expect):
    page = browse("text=Write+request+failed")
    expect(page.locator(".step").first).to_be_visible()
    held = held_requests(page)
    page.get_by_role("button", name="Effects").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".notice.error")).to_contain_text("Stopped")
    page.unroute("**/rpc")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("g.node").first).to_be_visible()
    expect(page.locator(".notice.error")).to_have_count(0)
    assert held


def test_panel_slow_walk_is_stopped_and_repeated(browse, expect):
    page = browse("view=wizard")
    expect(page.locator(".choice").first).to_be_visible()
    held = held_requests(page)
    page.evaluate("location.hash = 'view=walk&text=Write+request+failed'")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".notice.error")).to_contain_text("Stopped")
    page.unroute("**/rpc")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("g.node").first).to_be_visible()
    assert held


def test_functions_view_error_shows_no_hint_to_choose_runs(browse, expect):
    page = browse("view=diff&before=before&after=gone")
    expect(page.locator(".notice.error")).to_contain_text("no run named 'gone'")
    expect(page.locator("main")).not_to_contain_text("Choose two runs")


def test_panel_forced_colours_keep_nodes_and_selection_visible(browse, expect):
    page = browse("text=Write+request+failed")
    page.emulate_media(forced_colors="active")
    page.locator("g.node.root").click()
    expect(page.locator("g.node.selected")).to_have_count(1)
    looks = "e => [getComputedStyle(e).stroke, getComputedStyle(e).strokeWidth, getComputedStyle(e).fill]"
    chosen = page.locator("g.node.selected > rect.box").evaluate(looks)
    other = page.locator("g.node:not(.selected) > rect.box").first.evaluate(looks)
    assert chosen != other
    assert other[0] not in ("none", other[2])
