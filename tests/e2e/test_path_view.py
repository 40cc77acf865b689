"""The critical path view in a plain browser: the what-if slider, and the path told in other ways than in order."""

from __future__ import annotations

import re


def test_a_slider_asks_what_if_and_lists_tell_of_labels_and_of_what_ran_beside(browse, expect):
    page = browse("view=path&text=Write+request+failed")
    told = page.locator(".what-if output")
    expect(told).to_contain_text("would")
    page.get_by_label("How many percent faster").fill("0")
    expect(told).to_contain_text("no sooner")
    expect(page.locator(".lane-names li").first).to_be_visible()
    page.get_by_role("tab", name="By label").click()
    shares = [int(text.split()[0]) for text in page.locator(".path-groups .share").all_inner_texts()]
    assert shares == sorted(shares, reverse=True) and 90 <= sum(shares) <= 110
    page.get_by_role("tab", name="Beside it").click()
    expect(page.locator(".path-groups tbody tr").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("tab", name="Beside it")).to_have_attribute("aria-selected", "true")
    page.get_by_text("Why did it end then?").click()
    expect(page).to_have_url(re.compile("event="))
