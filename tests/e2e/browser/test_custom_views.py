"""Custom views of a workspace in the panel: the example, and invalid modules."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples/views/slowest.js"


@pytest.fixture
def views(recorded):
    folder = recorded.folder / ".clew/views"
    folder.mkdir(parents=True)
    shutil.copy2(EXAMPLE, folder)
    yield folder
    shutil.rmtree(folder)


def test_custom_view_example_lists_calls_and_leads_to_other_views(browse, expect, views):
    page = browse("view=own:slowest")
    rows = page.locator(".own tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_label("Only functions with").fill("ChunkIndex.lookup")
    page.keyboard.press("Enter")
    expect(rows.first).to_contain_text("ChunkIndex.lookup")
    rows.first.locator(".place").click()
    expect(page.locator(".source h3")).to_contain_text("index.py")
    page.keyboard.press("Escape")
    rows.first.get_by_role("button").first.click()
    expect(page.locator("g.node", has_text="ChunkIndex.lookup").first).to_be_visible()
    page.locator(".way").get_by_role("button", name="Slowest calls: ChunkIndex.lookup").click()
    expect(rows.first).to_contain_text("ChunkIndex.lookup")
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.get_by_label("Only functions with")).to_have_value("")


def test_custom_drawing_example_is_a_layout_of_entities(browse, expect, views):
    shutil.copy2(EXAMPLE.with_name("columns.js"), views)
    (views / "broken.js").write_text(
        "const make = () => ({ places() { throw new Error('no'); } });"
        "export default { of: 'entities', name: 'broken', title: 'Broken', make };"
    )
    page = browse("view=entities&run=failed-write&layout=own:columns")
    expect(page.get_by_label("Layout")).to_have_value("own:columns")
    expect(page.locator(".entities-figures")).to_contain_text("for each entity")
    expect(page.locator("canvas.front[data-still]")).to_be_visible()
    page.get_by_label("Layout").select_option("Broken")
    expect(page.locator(".notice")).to_contain_text("broken.js failed: no")
    page.get_by_label("Layout").select_option("Rings")
    expect(page.locator("canvas.front[data-still]")).to_be_visible()


def test_custom_view_that_fails_is_named_and_other_views_work(browse, expect, views):
    (views / "none.js").write_text("export default { name: 'none', title: 'None' };")
    (views / "draws.js").write_text(
        "export default { name: 'draws', title: 'Fails', make: () => ({ draw() { throw new Error('no such row'); } }) };"
    )
    page = browse("text=Write+request+failed")
    expect(page.locator(".notice", has_text="none.js")).to_contain_text("make must be a function")
    page.get_by_role("button", name="Fails").click()
    expect(page.locator(".own")).to_contain_text("draws.js: no such row")
    page.get_by_role("button", name="Slowest calls").click()
    expect(page.locator(".own tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Why", exact=True).click()
    expect(page.locator(".step").first).to_contain_text("Write request failed")


def test_custom_view_is_shown_in_the_editor(editor, expect, views):
    editor.open("chunkstore/index.py")
    editor.command("Clew: Open Panel")
    editor.panel.get_by_role("button", name="Slowest calls").click()
    expect(editor.panel.locator(".own tbody tr").first).to_be_visible()
