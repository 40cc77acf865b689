"""Accessibility of each view: axe finds no violation in any theme, the focus enters and leaves, and changes are announced."""

from __future__ import annotations

import pytest

from tests.support.editor.installed import CLIENT
from tests.support.editor.panel_views import PICTURES

AXE = CLIENT / "node_modules/axe-core/axe.min.js"
BROKEN = """async () => {
    // A box shows as much of its name as it has room for, and is called by all of it.
    const rules = { 'label-content-name-mismatch': { enabled: false } };
    const { violations } = await axe.run(document, { resultTypes: ['violations'], rules });
    return violations.map(one => `${one.help}: ${one.nodes.map(node => node.html).join(' ')}`);
}"""
LOOKS = {"light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"}, "contrast": {"contrast": "more"}}
INSIDE = "document.activeElement.closest('main') !== null"
STEPS = 12
"""The limit of Tab presses from the last control of the header into the view; a walk has its bar between them."""


@pytest.mark.parametrize(("state", "ready"), [row[1:] for row in PICTURES], ids=[row[0] for row in PICTURES])
def test_view_passes_axe_in_every_theme_and_tab_enters_and_leaves_it(browse, expect, state, ready):
    page = browse(state)
    expect(page.locator(ready).first).to_be_visible()
    expect(page.locator("main[aria-busy=false]")).to_be_visible()
    page.evaluate(AXE.read_text())
    for look, media in LOOKS.items():
        page.emulate_media(**media)
        assert (look, page.evaluate(BROKEN)) == (look, [])
    page.get_by_role("button", name="Keys").focus()
    for key in ("Tab", "Shift+Tab"):
        wanted = key == "Tab"
        for _step in range(STEPS):
            page.keyboard.press(key)
            if page.evaluate(INSIDE) == wanted:
                break
        assert page.evaluate(INSIDE) == wanted, key


def test_screen_reader_status_announces_the_view_once_it_is_answered(browse, expect):
    page = browse("view=path&text=Write+request+failed")
    told = page.locator("#app > [role=status]")
    expect(told).to_have_text("Critical path: “Write request failed”")
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(told).to_contain_text("Guide")
    expect(page.get_by_role("heading", level=1)).to_have_text("clew: Guide")


STOPS = """() => [...document.querySelectorAll('tbody :is(tr, button, a)')].filter(one => one.tabIndex === 0).map(
    one => one.closest('tr').rowIndex)"""
"""The rows of a view's tables that Tab stops at or inside of."""


def test_table_is_one_tab_stop_and_arrow_keys_move_between_rows(browse, expect):
    page = browse("view=aggregate&level=function")
    table = page.locator(".box-rows")
    rows = table.locator("tbody tr")
    expect(rows.nth(5)).to_be_visible()
    count = rows.count()
    expect(table).to_have_attribute("aria-rowcount", str(count + 1))
    assert set(page.evaluate(STOPS)) == {1}
    rows.first.focus()
    for key, place in (("ArrowDown", 1), ("End", count - 1), ("ArrowDown", count - 1), ("ArrowUp", count - 2)):
        page.keyboard.press(key)
        expect(rows.nth(place)).to_be_focused()
        expect(rows.nth(place)).to_have_attribute("aria-rowindex", str(place + 2))
        assert set(page.evaluate(STOPS)) == {place + 1}
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(rows.nth(count - 2)).to_be_focused()
    page.keyboard.press("Home")
    expect(rows.first).to_be_focused()
