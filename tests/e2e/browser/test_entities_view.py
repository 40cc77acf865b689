"""The Entities view in a plain browser: playing, stepping and inspecting processes, threads and tasks of the example."""

from __future__ import annotations

import re
from xml.etree import ElementTree

ASKED = "view=entities&run=failed-write&layout=concentric"
FRONT = "canvas.front[data-still]"
AT = ".entity-bar .at"


def numbers(page):
    """Return the number of the shown event and the number of all events."""
    title = page.locator(AT).get_attribute("title")
    return [int(number) for number in re.findall(r"\d+", title.replace(",", ""))]


def event(number, most):
    return f"Event {number:,} of {most:,}"


def test_entities_view_steps_through_events_and_link_keeps_the_moment(browse, expect):
    page = browse(ASKED)
    expect(page.locator(FRONT)).to_be_visible()
    begun, most = numbers(page)
    for key, wanted in (("ArrowLeft", begun - 1), ("ArrowRight", begun), ("ArrowRight", begun + 1)):
        page.keyboard.press(key)
        expect(page.locator(AT)).to_have_attribute("title", event(wanted, most))
    told = page.locator(".view.entities > [role=status]")
    expect(told).to_have_text(re.compile(r"→|moves into|ends|appears|not shown"))
    expect(page).to_have_url(re.compile(f"moment={begun + 1}"))
    page.reload()
    expect(page.locator(FRONT)).to_be_visible()
    expect(page.locator(AT)).to_have_attribute("title", event(begun + 1, most))
    for key, wanted in (("Home", 0), ("End", most)):
        page.keyboard.press(key)
        expect(page.locator(AT)).to_have_attribute("title", event(wanted, most))


def test_entities_view_plays_to_the_end_and_backward(browse, expect):
    page = browse(ASKED + "&moment=0")
    expect(page.locator(FRONT)).to_be_visible()
    _, most = numbers(page)
    page.get_by_label("Speed").select_option("8")
    page.locator(".entity-bar .play").click()
    expect(page.locator(AT)).to_have_attribute("title", event(most, most))
    expect(page.locator(".entity-bar .play")).to_contain_text("Play")
    page.get_by_role("button", name="Play backward").click()
    expect(page.locator(AT)).to_have_attribute("title", event(0, most))
    expect(page.locator(".entity-bar .play")).to_contain_text("Play")


def test_entities_view_entity_leads_to_its_container_and_a_walk(browse, expect):
    page = browse(ASKED)
    expect(page.locator(FRONT)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("MainThread")
    expect(page.locator(".search output")).to_contain_text("of")
    page.keyboard.press("Enter")
    card = page.locator(".entity-card")
    expect(card.get_by_role("heading", name="MainThread")).to_be_visible()
    expect(card.locator(".happenings li").first).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".view.entities > [role=status]")).to_have_text(re.compile(r", sent [\d,]+, received [\d,]+$"))
    page.keyboard.press("Enter")
    where = page.locator(".entities-where")
    expect(where).to_contain_text("All")
    for _level in range(page.locator(".entities-where b, .entities-where button").count() - 1):
        page.keyboard.press("Backspace")
        expect(page.locator(FRONT)).to_be_visible()
    expect(where).to_have_count(0)
    expect(page.locator(FRONT)).to_be_visible()
    page.keyboard.press("Escape")
    page.locator(".entity-rows button").first.click()
    card.get_by_role("button", name="Walk from here").click()
    expect(page.locator(".walk-card, .walk g.node, g.node").first).to_be_visible()


def test_entities_view_opens_from_a_call_and_leads_back_to_the_timeline(browse, expect):
    page = browse("view=timeline&run=failed-write")
    expect(page.locator(".timeline-canvas[data-whole]")).to_be_visible()
    page.locator(".timeline-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="Show entities at this time").click()
    expect(page.locator(FRONT)).to_be_visible()
    expect(page).to_have_url(re.compile(r"view=entities.*\bat=\d+"))
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator(".timeline-canvas[data-whole]")).to_be_visible()
    page.keyboard.press("Alt+ArrowRight")
    expect(page.locator(FRONT)).to_be_visible()
    page.locator(".entity-rows button").first.click()
    page.locator(".entity-card").get_by_role("button", name="Show on the timeline").click()
    expect(page).to_have_url(re.compile(r"view=timeline.*\bfrom=\d+&to=\d+"))
    page.get_by_role("navigation", name="Previous questions").get_by_role("button").last.click()
    expect(page.locator(FRONT)).to_be_visible()


def test_entities_view_is_copied_as_svg_and_fits_a_narrow_window(browse, expect):
    page = browse(ASKED, width=500, height=760, dark=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator(FRONT)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_label("Copy", exact=True).click()
    page.get_by_role("menuitem", name="SVG").click()
    expect(page.locator(".said")).to_contain_text("clipboard")
    drawing = page.evaluate("navigator.clipboard.readText()")
    assert drawing.startswith("<svg") and "MainThread" in drawing
    assert ElementTree.fromstring(drawing).tag.endswith("svg")


def test_entities_view_layout_shows_its_clarity_numbers(browse, expect):
    page = browse(ASKED)
    figures = page.locator(".entities-figures")
    for layout in ("force", "untangled", "auto"):
        page.get_by_label("Layout").select_option(layout)
        expect(figures).to_contain_text("for each entity")
        expect(page.locator(FRONT)).to_be_visible()
