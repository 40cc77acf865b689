"""Each view for those who hear it or have the keyboard alone: axe finds nothing in any theme, the focus goes in and out."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import CLIENT
from tests.e2e.test_browser import PICTURES

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
"""From the last control of the header to what is in the view: a walk has its bar between them."""


@pytest.mark.parametrize(("state", "ready"), [row[1:] for row in PICTURES], ids=[row[0] for row in PICTURES])
def test_a_view_has_names_contrast_and_a_way_in_and_out_by_tab(browse, expect, state, ready):
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


def test_whoever_hears_the_page_is_told_of_the_view_when_its_answer_is_there(browse, expect):
    page = browse("view=path&text=Write+request+failed")
    told = page.locator("#app > [role=status]")
    expect(told).to_have_text("Critical path: “Write request failed”")
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(told).to_contain_text("Guide")
    expect(page.get_by_role("heading", level=1)).to_have_text("clew: Guide")
