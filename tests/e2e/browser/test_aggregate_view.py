"""The Aggregate view in a plain browser: nodes that open in place, and the table next to them."""

from __future__ import annotations

import re

PLACES = """Object.fromEntries([...document.querySelectorAll('g.node')].map(
    node => [node.dataset.id, node.getAttribute('transform')]))"""


def test_aggregate_nodes_open_and_close_by_keyboard_without_moving_others(browse, expect):
    page = browse("view=aggregate")
    nodes = page.locator("g.node")
    expect(nodes.first).to_be_visible()
    before, count = page.evaluate(PLACES), nodes.count()
    page.keyboard.press("ArrowDown")
    expect(page.locator("g.node.selected")).to_have_count(1)
    opened = page.locator("g.node.selected").get_attribute("data-id")
    page.keyboard.press("Enter")
    expect(page.locator("g.node.kind-opened")).to_have_attribute("data-id", opened)
    expect(page.locator("g.frame")).to_have_count(1)
    after = page.evaluate(PLACES)
    assert len(after) > count
    assert {box: after[box] for box in before} == before
    expect(page.locator(".box-rows tbody tr")).to_have_count(len(after) - 1)
    page.keyboard.press("Backspace")
    expect(nodes).to_have_count(count)
    assert page.evaluate(PLACES) == before
    expect(page.locator("g.node.selected")).to_have_attribute("data-id", opened)


def test_aggregate_table_sorts_by_column_and_leads_to_node_and_source(browse, expect):
    page = browse("view=aggregate&level=function")
    rows = page.locator(".box-rows tbody tr")
    expect(rows.first).to_be_visible()
    page.locator(".box-rows thead button", has_text="Calls").click()
    calls = [int(text.replace(",", "").replace("–", "0")) for text in page.locator(
        ".box-rows tbody td:nth-child(5)").all_inner_texts()]  # fmt: skip
    assert calls == sorted(calls, reverse=True) and calls[0] > 0
    lookup = page.locator(".box-rows tbody tr", has_text="ChunkIndex.lookup").first
    lookup.click()
    expect(lookup).to_have_class(re.compile("selected"))
    expect(page.locator("g.node.selected")).to_contain_text("ChunkIndex.lookup")
    lookup.press("Enter")
    expect(page.locator(".source h3")).to_contain_text("index.py")


def test_aggregate_link_keeps_opened_nodes_and_measure(browse, expect):
    page = browse("view=aggregate")
    expect(page.locator("g.node").first).to_be_visible()
    page.get_by_label("Measure for the colours").select_option("errors")
    page.locator(".box-rows tbody tr").first.click()
    page.locator(".selected .link", has_text="Open (").click()
    expect(page.locator("g.frame")).to_have_count(1)
    shown = page.locator("g.node").count()
    page.reload()
    expect(page.locator("g.frame")).to_have_count(1)
    expect(page.locator("g.node")).to_have_count(shown)
    expect(page.get_by_label("Measure for the colours")).to_have_value("errors")
