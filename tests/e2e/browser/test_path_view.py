"""The Critical path view in a plain browser: the what-if slider, the lists by label and parallel work, and zoom."""

from __future__ import annotations

import re


def test_critical_path_what_if_slider_and_lists_by_label_and_parallel(browse, expect):
    page = browse("view=path&text=Write+request+failed")
    told = page.locator(".what-if output")
    expect(told).to_contain_text("would")
    page.get_by_label("Percent faster").fill("0")
    expect(told).to_contain_text("would not come sooner")
    expect(page.locator(".lane-names li").first).to_be_visible()
    page.get_by_role("tab", name="By label").click()
    shares = [int(text.split()[0]) for text in page.locator(".path-groups .share").all_inner_texts()]
    assert shares == sorted(shares, reverse=True) and 90 <= sum(shares) <= 110
    page.get_by_role("tab", name="Parallel").click()
    expect(page.locator(".path-groups tbody tr").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("tab", name="Parallel")).to_have_attribute("aria-selected", "true")
    page.get_by_text("Why did it end here?").click()
    expect(page).to_have_url(re.compile("event="))


def test_critical_path_lanes_zoom_by_buttons_keys_and_wheel(browse, expect):
    page = browse("view=path&text=Write+request+failed")
    room = page.locator(".lane-bars")
    expect(room).to_be_visible()

    def closer():
        """Return the width of the lanes as a multiple of the visible width."""
        return room.evaluate("box => Math.round(100 * box.firstElementChild.clientWidth / box.clientWidth) / 100")

    assert closer() == 1
    marks = page.locator(".lane-bars .axis span")
    expect(marks).to_have_count(3)
    page.get_by_role("button", name="Zoom in (+)").click()
    assert 1.2 < closer() < 1.4
    page.locator(".segments tbody tr").first.focus()
    page.keyboard.press("+")
    assert 1.5 < closer() < 1.9
    page.screenshot(path="artifacts/path-closer.png")
    room.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -600)
    page.keyboard.up("Control")
    page.wait_for_function("document.querySelector('.lane-bars').firstElementChild.clientWidth > 20 * innerWidth")
    assert marks.count() > 20
    page.locator(".segments tbody tr:not(.folded)").last.click()
    assert page.locator(".piece.selected").evaluate_all(
        """pieces => pieces.some(piece => {
            const [it, room] = [piece, piece.closest(".lane-bars")].map(one => one.getBoundingClientRect());
            return it.left < room.right && it.right > room.left;
        })"""
    )
    page.keyboard.press("f")
    expect(marks).to_have_count(3)
    assert closer() == 1
