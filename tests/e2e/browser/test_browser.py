"""The panel of `clew view` in a plain browser, on recorded runs of the example."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest

from tests.support.editor.panel_views import PICTURES


def test_why_chain_of_error_leads_through_several_processes(browse, expect):
    page = browse("text=Write+request+failed")
    steps = page.locator(".step")
    expect(steps.first).to_contain_text("Write request failed")
    expect(page.locator(".step", has_text="mark_deleted").first).to_be_visible()
    where = {text.split(" · ")[0] for text in page.locator(".step .where b").all_inner_texts()}
    assert len(where) >= 3, where
    numbers = page.locator(".step .number").all_inner_texts()
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]


def test_why_every_step_is_a_node_of_the_graph(browse, expect):
    page = browse("text=Write+request+failed")
    expect(page.locator("g.node.root")).to_have_count(1)
    steps = page.locator(".step").count()
    badges = page.locator("g.steps text").all_text_contents()
    shown = {int(number) for badge in badges for number in re.findall(r"\d+", badge)}
    assert shown and max(shown) <= steps


def test_why_nodes_do_not_overlap(browse, expect):
    page = browse("text=Write+request+failed")
    expect(page.locator("g.node").first).to_be_visible()
    boxes = page.evaluate(
        "[...document.querySelectorAll('g.node > rect.box')].map(r => r.getBoundingClientRect())"
        ".map(b => [b.left, b.top, b.right, b.bottom])"
    )
    overlaps = [
        (a, b)
        for number, a in enumerate(boxes)
        for b in boxes[number + 1 :]
        if a[0] < b[2] - 1 and b[0] < a[2] - 1 and a[1] < b[3] - 1 and b[1] < a[3] - 1
    ]
    assert overlaps == []


def test_why_click_on_node_shows_its_source_with_the_line_marked(browse, expect, recorded):
    page = browse("text=Write+request+failed")
    page.locator("g.node.root").click()
    expect(page.locator(".source .marked")).to_be_visible()
    title = page.locator(".source h3").inner_text()
    path, line = title.rsplit(":", 1)
    source = (recorded.folder / path).read_text().splitlines()[int(line) - 1]
    assert source.strip() in page.locator(".source .marked").inner_text()
    page.keyboard.press("Escape")
    expect(page.locator(".source")).to_have_count(0)


def test_why_reload_keeps_target_level_and_critical_path(browse, expect):
    page = browse("text=Write+request+failed")
    page.get_by_label("Level of detail").select_option("module")
    expect(page.locator("g.node", has_text="chunkstore.").first).to_be_visible()
    page.locator("vscode-checkbox").click()
    expect(page.locator("section.path")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Level of detail")).to_have_value("module")
    expect(page.locator("section.path tbody tr").first).to_be_visible()
    expect(page.locator(".summary h2")).to_contain_text("Write request failed")


def test_why_keyboard_finds_a_node_and_shows_its_source(browse, expect):
    page = browse("text=Write+request+failed")
    expect(page.locator("g.node").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("mark_deleted")
    expect(page.locator("g.node.match")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("g.node.selected")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(page.locator(".source h3")).to_contain_text("index.py")
    selected = page.locator("g.node.selected").get_attribute("data-id")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowUp")
    expect(page.locator("g.node.selected")).not_to_have_attribute("data-id", selected)


def test_why_effects_button_shows_the_effects(browse, expect):
    page = browse("function=chunkstore.client%3AClient.delete")
    expect(page.locator("g.node").first).to_be_visible()
    page.get_by_role("button", name="Effects").click()
    expect(page.locator("g.node", has_text="mark_deleted").first).to_be_visible()


def test_critical_path_title_counts_its_segments(browse, expect):
    page = browse("view=path&text=Write+request+failed")
    expect(page.locator(".segments tbody tr").first).to_be_visible()
    expect(page.locator(".sentence")).to_contain_text(re.compile(r"\d+ segments"))


def test_values_view_draws_the_history_of_a_state(browse, expect, recorded):
    page = browse("view=value&run=shop-after&state=Stock._sold")
    rows = page.locator(".history-rows tbody tr")
    expect(rows.first).to_contain_text("= a set")
    expect(page.locator(".writers li", has_text="Stock.mark_sold")).to_be_visible()
    marks = page.locator("g.write")
    expect(marks).to_have_count(rows.count())
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(rows.nth(1)).to_have_attribute("aria-current", "true")
    line = recorded.line_of("shop/stock.py", "self._sold.add(")
    expect(page.locator(".source h3")).to_have_text(f"shop/stock.py:{line}")
    page.get_by_role("button", name="Space evenly").click()
    expect(page.get_by_role("button", name="Space by time")).to_be_visible()


def test_values_view_tells_how_to_record_writes(browse, expect):
    page = browse("view=value&run=failed-write&state=ChunkIndex.chunks")
    expect(page.locator(".history-none")).to_contain_text("recorded no writes")
    expect(page.locator(".history-none .command")).to_contain_text("clew run --writes")


def test_functions_view_names_the_slower_function(browse, expect):
    page = browse("view=diff&before=before&after=after")
    expect(page.locator(".finding .sentence")).to_contain_text("ChunkIndex.lookup")
    first = page.locator(".diff-rows tbody tr").first
    expect(first).to_contain_text("ChunkIndex.lookup")
    expect(first).to_have_class(re.compile("slower"))
    first.click()
    expect(page.locator("g.node.selected")).to_contain_text("ChunkIndex.lookup")
    expect(page.locator(".source h3")).to_contain_text("index.py")


def test_requests_view_ranks_categories_and_shows_one_graph(browse, expect):
    page = browse("view=compare&before=shop-before&after=shop-after")
    row = page.locator(".compare-rows tbody tr").first
    expect(row).to_contain_text("slower")
    expect(row).to_contain_text("p < 0.001")
    expect(row).to_have_class(re.compile("selected"))
    expect(page.locator(".finding .sentence")).to_contain_text("1 slower of 20 requests before and 20 after")
    expect(page.locator("g.flow-call.sure", has_text="Stock.lookup")).to_be_visible()
    page.locator(".facts li", has_text="Stock.lookup").get_by_role("button").click()
    expect(page.locator(".source h3")).to_contain_text("stock.py")


def test_requests_view_keyboard_selects_categories(browse, expect):
    page = browse("view=compare&before=before&after=after")
    rows = page.locator(".compare-rows tbody tr")
    expect(rows.nth(1)).to_be_visible()
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(rows.nth(1)).to_have_attribute("aria-current", "true")
    title = page.locator(".category h2").inner_text()
    page.reload()
    expect(page.locator(".category h2")).to_have_text(title)
    page.keyboard.press("/")
    page.keyboard.type("no such request")
    expect(rows).to_have_count(0)


def test_requests_view_fits_a_narrow_window(browse, expect):
    page = browse("view=compare&before=before&after=after", width=420, height=800)
    expect(page.locator(".compare-rows tbody tr").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_requests_view_folds_flows_and_slider_sets_significance(browse, expect):
    page = browse("view=compare&before=before&after=after")
    boxes = page.locator("g.flow-call")
    expect(page.locator("g.flow-call.equal").first).to_be_visible()
    expect(page.locator("svg.minimap")).to_be_visible()
    summary = page.locator(".significance summary")
    marked = summary.inner_text()
    summary.click()
    expect(page.locator(".threshold p")).to_contain_text("p ≤ 0.05")
    chance = page.get_by_role("slider", name="Chance in")
    chance.fill("0")
    expect(page.locator(".threshold p")).to_contain_text("p ≤ 0.000001")
    expect(summary).not_to_have_text(marked)
    chance.fill("7")
    expect(summary).to_have_text(marked)
    folded = boxes.count()
    page.locator("g.flow-call.equal").first.press("Enter")
    page.wait_for_function("folded => document.querySelectorAll('g.flow-call').length > folded", arg=folded)
    page.keyboard.press("x")
    expect(boxes).to_have_count(folded)
    page.keyboard.press("]")
    expect(page.locator("g.flow-call.selected")).to_have_class(re.compile("sure"))


def test_requests_view_side_by_side_keeps_the_anchor_level(browse, expect):
    page = browse("view=compare&before=before&after=after")
    page.locator("g.flow-call").first.wait_for()
    page.keyboard.press("]")
    page.keyboard.press("a")
    page.keyboard.press("m")
    expect(page.get_by_role("radio", name="Side by side")).to_have_attribute("aria-checked", "true")
    before, after = (page.locator(f".pane.{side} g.flow-call.anchor .box").last for side in ("before", "after"))
    expect(after).to_be_visible()
    for _ in range(2):
        one, other = before.bounding_box(), after.bounding_box()
        assert abs(one["y"] - other["y"]) < 0.5 and abs(one["height"] - other["height"]) < 0.5
        page.keyboard.press("+")
    expect(page.locator("path.correspondence.strong").first).to_be_attached()
    page.reload()
    expect(page.locator(".pane.before g.flow-call").first).to_be_visible()


def test_requests_view_animation_labels_only_the_two_recorded_states(browse, expect):
    page = browse("view=compare&before=before&after=after&flows=animation")
    scrubber = page.get_by_role("slider", name="From before to after")
    expect(page.locator(".side-word")).to_have_text("− before")
    scrubber.fill("0.5")
    expect(page.locator(".between-word")).to_be_visible()
    expect(page.locator(".side-word")).to_have_count(0)
    expect(page.locator(".flow-labels text")).to_have_count(0)
    page.keyboard.press("Escape")
    page.locator("g.flow-call").first.focus()
    page.keyboard.press(".")
    page.keyboard.press(".")
    expect(page.locator(".side-word")).to_have_text("+ after")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".between-word")).to_be_visible()


def test_requests_view_measures_an_interval_between_two_calls(browse, expect):
    page = browse("view=compare&before=shop-before&after=shop-after")
    page.locator("g.flow-call", has_text="app.order").wait_for()
    page.get_by_role("button", name="Measure an interval").click()
    page.locator("g.flow-call", has_text="app.order").click()
    page.locator("g.flow-call", has_text="Stock.lookup").click()
    expect(page.locator(".stretch")).to_contain_text(re.compile(r"order to the end of \S*lookup:\s.* → .* ms \(\+"))
    expect(page.locator("g.flow-call.measured")).to_have_count(3)


def test_suspects_view_ranks_suspects_with_their_evidence(browse, expect):
    page = browse("view=suspects&before=shop-before&after=shop-after")
    row = page.locator(".suspect-rows tbody tr", has_text="Stock.lookup")
    expect(row.first).to_contain_text("p < 0.001")
    row.first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".source h3")).to_contain_text("stock.py")
    page.keyboard.press("Escape")
    expect(page.locator(".side h3")).to_contain_text("Stock.lookup")
    expect(page.locator(".evidence").first).to_contain_text("20 and 20 requests")
    page.locator(".evidence").first.get_by_role("button", name="show the causes of an example").click()
    expect(page.locator("g.node", has_text="Stock.lookup").first).to_be_visible()


def test_suspects_view_example_leads_to_walk_and_timeline(browse, expect):
    page = browse("view=suspects&before=shop-before&after=shop-after")
    row = page.locator(".suspect-rows tbody tr", has_text="Stock.lookup")
    row.first.focus()
    page.keyboard.press("w")
    expect(page.locator(".walk-bar .walk-title")).to_contain_text("Stock.lookup")
    page.get_by_role("button", name="End the walk").click()
    page.locator(".evidence").first.get_by_role("button", name="show on the timeline").click()
    expect(page.locator(".timeline-canvas[data-whole]")).to_be_visible()
    expect(page).to_have_url(re.compile(r"view=timeline.*from=\d+&to=\d+"))
    # On the timeline `w` zooms, and `W` starts a walk.
    page.locator(".timeline-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("w")
    expect(page.locator(".walk-bar")).to_have_count(0)
    expect(page.locator(".timeline-said")).to_contain_text("self time")  # the selected call has been loaded
    page.keyboard.press("W")
    expect(page.locator(".walk-bar .walk-title")).to_be_visible()


def test_suspects_view_fits_a_narrow_window(browse, expect):
    page = browse("view=suspects&before=before&after=after", width=420, height=800)
    expect(page.locator(".suspect-rows tbody tr").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_patterns_view_ranks_patterns_with_their_calls(browse, expect):
    page = browse("view=patterns&run=after")
    rows = page.locator(".pattern-rows tbody tr")
    expect(rows.nth(1)).to_be_visible()
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(rows.nth(1)).to_have_attribute("aria-current", "true")
    expect(page.locator(".side h3").first).to_have_text(rows.nth(1).locator(".name").inner_text())
    expect(page.locator(".outline li").nth(1)).to_be_visible()
    assert page.evaluate("getComputedStyle(document.querySelectorAll('.outline li')[1]).paddingLeft") == "14px"
    page.locator(".outline button").first.click()
    expect(page.locator(".source h3")).to_contain_text(".py:")


def test_patterns_view_fits_a_narrow_window(browse, expect):
    page = browse("view=patterns&run=after", width=420, height=800)
    expect(page.locator(".pattern-rows tbody tr").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_timeline_view_shows_strands_zooms_and_leads_to_source(browse, expect):
    page = browse("view=timeline&run=after")
    canvas = page.locator(".timeline-canvas[data-whole]")
    expect(canvas).to_be_visible()
    said = page.locator("#timeline-summary")
    expect(said).to_contain_text("Busiest")
    whole = said.inner_text()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    for _ in range(4):
        page.mouse.wheel(0, -400)
    expect(said).not_to_have_text(whole)
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+"))
    page.keyboard.press("0")
    expect(said).to_have_text(whole)
    page.get_by_role("button", name="Zoom in (+)").click()
    expect(said).not_to_have_text(whole)
    page.get_by_role("button", name="Show all (0)").click()
    expect(said).to_have_text(whole)
    # The outermost call of the first thread, below the axis and the name of its process.
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 24 + 22 + 6)
    expect(page.locator(".timeline-said")).to_contain_text("MainThread of chunkstore.scenario")
    expect(page.locator(".source h3")).to_contain_text(".py:")
    page.keyboard.press("Escape")
    canvas.focus()
    first = page.locator(".timeline-said span").inner_text()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".timeline-said span")).not_to_have_text(first)
    page.get_by_role("button", name="Show its causes").click()
    expect(page.locator("g.node").first).to_be_visible()


def test_timeline_view_fits_a_narrow_window_and_counts_matches(browse, expect):
    page = browse("view=timeline&run=after&search=lookup", width=420, height=800)
    expect(page.locator(".timeline-canvas[data-whole]")).to_be_visible()
    expect(page.locator(".search output")).to_have_text(re.compile(r"^[\d,]+$"))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_timeline_view_search_goes_through_the_whole_run(browse, expect):
    page = browse("view=timeline&run=failed-write&from=1&to=1000")
    expect(page.locator(".timeline-canvas[data-whole]")).to_be_visible()
    page.keyboard.press("/")
    page.locator("#search").fill("Write request failed")
    tools = page.locator(".timeline-tools")
    expect(tools).to_contain_text("log line")
    total = page.locator(".search output").inner_text()
    page.locator(".timeline-canvas").focus()
    page.keyboard.press("n")
    expect(page.locator(".search output")).to_have_text(f"1 of {total}")
    expect(page.locator(".timeline-said")).to_contain_text("Write request failed")
    page.keyboard.press("Shift+N")
    expect(page.locator(".search output")).to_have_text(f"{total} of {total}")


def test_why_unknown_text_says_what_to_do(browse, expect):
    page = browse("text=no+such+message+anywhere")
    said = page.locator(".empty p, .notice.error").first
    expect(said).to_be_visible()
    assert len(said.inner_text()) > 20


def test_why_fits_a_narrow_window(browse, expect):
    page = browse("text=Write+request+failed", width=420, height=800)
    expect(page.locator(".step").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.pictures
def test_screenshots_of_panel_are_written(browse, expect):
    """Write screenshots into artifacts/, and small ones for the documents into the folder CLEW_PICTURES (`make pictures`)."""
    folder = Path(__file__).parents[3] / "artifacts"
    folder.mkdir(exist_ok=True)
    small = os.environ.get("CLEW_PICTURES")
    for dark in (False, True):
        theme = "dark" if dark else "light"
        for name, state, ready in PICTURES:
            page = browse(state, dark=dark, **({"width": 1000, "height": 620} if small else {}))
            expect(page.locator(ready).first).to_be_visible()
            page.wait_for_timeout(1500 if small else 400)
            page.screenshot(path=str(folder / f"browser-{name}-{theme}.png"))
            if small and name not in NOT_IN_DOCS:
                keep_small(page.screenshot(), Path(small) / f"{name}-{theme}.png")


NOT_IN_DOCS = ("why-critical-path", "why-modules", "sides")
COLOURS = 96


def keep_small(picture, file):
    """Save a picture with few colours, which takes a third of the bytes and looks the same."""
    from PIL import Image

    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


def test_guide_view_asks_questions_and_shows_its_steps(browse, expect):
    page = browse("view=wizard")
    expect(page.locator(".choice")).to_have_count(3)
    page.keyboard.press("1")
    for _question in range(3):
        expect(page.locator(".guide .asked")).to_be_visible()
        page.keyboard.press("1")
        page.wait_for_timeout(300)
    expect(page.locator(".step-found")).to_have_count(5)
    expect(page.locator(".saved")).to_contain_text("errors.py")
    page.locator(".step-found", has_text="Causes of the error").get_by_text("Show it in the panel").click()
    expect(page.locator(".step").first).to_be_visible()
    page.go_back()
    expect(page.locator(".step-found")).to_have_count(5)


def test_guide_view_answer_without_result_leads_back_to_the_question(browse, expect):
    page = browse("view=wizard&analysis=errors")
    page.locator(".guide .choice", has_text="before").first.click()
    said = page.locator(".guide .notice")
    expect(said).to_contain_text("Run before has no log line of level WARNING or above")
    expect(said.locator("code")).to_have_text("clew run --spec")
    page.locator(".guide .answers button", has_text="before").first.click()
    expect(page.locator(".guide .choice", has_text="failed-write")).to_be_visible()


def test_guide_view_code_keeps_its_indentation(browse, expect):
    page = browse("view=wizard&analysis=regression")
    for _question in range(3):
        expect(page.locator(".guide .asked")).to_be_visible()
        page.keyboard.press("1")
        page.wait_for_timeout(300)
    expect(page.locator(".step-found")).to_have_count(4)
    shown = page.locator("td.code").evaluate_all("cells => cells.map(cell => cell.innerText)")
    assert any(line.startswith("    ") for line in shown), shown


def test_guide_view_fits_a_narrow_window(browse, expect):
    page = browse("view=wizard&analysis=path&answer=", width=520, dark=True)
    page.keyboard.press("1")
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.screenshot(path="artifacts/guide-narrow.png")
