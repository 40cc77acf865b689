"""Python files in a real VS Code: hints, hovers, what-if, and the selected run and baseline."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest


@pytest.fixture
def shop(editor):
    """Select the slower run of the shop, whose times are known."""
    editor.run_item.click()
    editor.pick("shop-after")
    yield editor
    editor.run_item.click()
    editor.pick("after")


def test_inlay_hints_show_calls_and_waits_until_switched_off(shop, expect):
    shop.open("shop/app.py", shop.recorded.line_of("shop/app.py", "stock.lookup(item)"))
    called = shop.page.locator(".view-line", has_text="stock.lookup(item)")
    expect(called).to_contain_text(re.compile(r"[\d.]+\sms\sin\s20\scalls"))
    waited = shop.page.locator(".view-line", has_text="await asyncio.gather")
    expect(waited).to_contain_text(re.compile(r"waited\s[\d.]+\s.s"))
    shop.photograph("hints")
    shop.recorded.configure({"clew.inlayHints.enabled": False})
    expect(called).not_to_contain_text("calls")


def test_hover_on_function_shows_its_calls_and_leads_to_their_causes(shop, expect):
    shop.open("shop/stock.py", shop.recorded.line_of("shop/stock.py", "def lookup"))
    # Once the lens appears, the run has been read.
    expect(shop.page.locator(".codelens-decoration a", has_text="20 calls").first).to_be_visible()
    shop.page.locator(".view-line", has_text="def lookup").get_by_text("lookup", exact=True).hover()
    told = shop.page.locator(".monaco-hover:visible", has_text="callers").first
    expect(told).to_contain_text("in run shop-after")
    expect(told).to_contain_text(re.compile(r"calls\s*20"))
    shop.photograph("hover", hovering=True)
    told.locator("a", has_text="What led to these calls?").click()
    expect(shop.panel.locator("g.node", has_text="Stock.lookup").first).to_be_visible()


def test_state_under_the_cursor_leads_to_its_last_writer_and_its_history(shop, expect):
    line = shop.recorded.line_of("shop/stock.py", "return item not in self._sold")
    column = "            return item not in self._so"
    shop.open("shop/stock.py", line, len(column))
    # Once the lens appears, the run has been read.
    expect(shop.page.locator(".codelens-decoration a", has_text="20 calls").first).to_be_visible()
    shop.command("Clew: Who Wrote This?")
    shop.wait_for_cursor("stock.py", shop.recorded.line_of("shop/stock.py", "self._sold.add("))
    told = shop.page.locator(".notification-list-item", has_text="Stock.mark_sold, called by Sweeper.run").first
    expect(told).to_be_visible()
    told.get_by_role("button", name="History").click()
    expect(shop.panel.locator(".history-rows tbody tr.selected")).to_contain_text("read by Stock.lookup")
    shop.photograph("history")


def test_code_lens_shows_what_if_of_requests(shop, expect):
    shop.open("shop/stock.py", shop.recorded.line_of("shop/stock.py", "def lookup"))
    lens = shop.page.locator(".codelens-decoration a", has_text="20 calls").first
    expect(lens).to_contain_text(re.compile(r"of the critical path · 10 % faster: p95 of order -[\d.]+ %"))
    shop.recorded.configure({"clew.whatIf.percent": 50})
    expect(lens).to_contain_text("50 % faster: ")


def test_status_bar_names_the_baseline(shop, expect):
    item = shop.baseline_item
    expect(item).to_contain_text("no baseline")
    item.click()
    shop.pick("shop-before")
    expect(item).to_contain_text("shop-before")
    item.click()
    shop.pick("None")
    expect(item).to_contain_text("no baseline")


def test_code_lens_has_the_configured_parts_and_can_be_switched_off(shop, expect):
    shop.open("shop/stock.py", shop.recorded.line_of("shop/stock.py", "def lookup"))
    lens = shop.page.locator(".codelens-decoration a", has_text="20 calls")
    expect(lens.first).to_contain_text("self")
    shop.recorded.configure({"clew.codeLens.parts": ["errors", "p95", "calls"]})
    expect(lens.first).to_have_text(re.compile(r"^p95 [\d.]+ .s · 20 calls$"))
    shop.recorded.configure({"clew.codeLens.enabled": False})
    expect(lens).to_have_count(0)
    shop.recorded.configure({})
    expect(lens.first).to_contain_text("self")
    lens.first.click()
    expect(shop.panel.locator("g.node.root", has_text="Stock.lookup")).to_be_visible()


def test_hover_on_function_shows_exceptions_and_waits(shop, expect):
    shop.open("shop/app.py", shop.recorded.line_of("shop/app.py", "def check"))
    expect(shop.page.locator(".codelens-decoration a", has_text="20 calls").first).to_be_visible()
    shop.page.locator(".view-line", has_text="def check").get_by_text("check", exact=True).hover()
    expect(shop.page.locator(".monaco-hover:visible", has_text="callers").first).to_contain_text(
        "1 call ended by an exception"
    )
    shop.page.keyboard.press("Escape")
    shop.page.mouse.move(2, 2)
    shop.page.locator(".view-line", has_text="def main").get_by_text("main", exact=True).hover()
    told = shop.page.locator(".monaco-hover:visible", has_text="callees").first
    expect(told).to_contain_text(re.compile(r"for thread\.join until\s*Sweeper\.run"))
    expect(told).to_contain_text(re.compile(r"Sweeper\.run\s*1× by thread\.start"))


@pytest.mark.parametrize(
    ("title", "name", "run", "steps"),
    [
        ("Errors", "errors", "failed-write", 5),
        ("Critical Path", "path", "after", 5),
        ("Regression", "regression", "after", 4),
    ],
)
def test_guide_command_asks_in_the_editor_and_saves_a_query_that_runs(editor, expect, title, name, run, steps):
    editor.open("chunkstore/index.py")
    editor.command(f"Clew: Analyse {title}")
    first = editor.page.locator(".quick-input-title", has_text="(1)")
    first.wait_for()
    if title == "Errors":
        editor.pick("after")
        expect(
            editor.page.locator(".notification-list-item-message", has_text="no recorded function failed")
        ).to_be_visible()
        first.wait_for()
    editor.pick(run)
    for number in (2, 3):
        editor.page.locator(".quick-input-title", has_text=f"({number})").wait_for()
        editor.page.keyboard.press("Enter")
    expect(editor.panel.locator(".step-found")).to_have_count(steps)
    saved = editor.recorded.folder / f".clew/queries/{name}.py"
    expect(editor.panel.locator(".saved")).to_contain_text(saved.name)
    command = [sys.executable, str(saved)]
    done = subprocess.run(command, cwd=editor.recorded.folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout
