"""A report opened from disk: the panel with its answers in one file."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def report(recorded, vsix):
    file = recorded.folder.with_name("report.html")
    command = [sys.executable, "-m", "clew", "report", "failed-write", "-o", str(file)]
    done = subprocess.run(command, cwd=recorded.folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return file


def test_report_file_has_the_chain_of_the_error(browser, expect, report):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    problems, loaded = [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(report.as_uri())
    page.locator(".contents").get_by_role("button", name="Write request failed").click()
    expect(page.locator(".step").first).to_contain_text("Write request failed")
    expect(page.locator(".step", has_text="mark_deleted").first).to_be_visible()
    expect(page.locator("g.node.root")).to_have_count(1)
    page.locator(".step-body").first.click()
    expect(page.locator(".source .marked")).to_contain_text("Write request failed")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Critical path", exact=True).click()
    expect(page.locator(".segments tbody tr").first).to_be_visible()
    page.get_by_label("Level of detail").select_option("process")
    expect(page.locator(".notice.error")).to_contain_text("not in the report")
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator(".segments tbody tr").first).to_be_visible()
    page.close()
    assert problems == []
    assert {url for url in loaded if not url.startswith(("blob:", "data:"))} == {report.as_uri()}


def test_report_file_of_comparison_shows_every_view(browser, expect, recorded, vsix):
    file = recorded.folder.with_name("changes.html")
    command = [sys.executable, "-m", "clew", "report", "shop-after", "--against", "shop-before", "-o", str(file)]
    done = subprocess.run(command, cwd=recorded.folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    problems, loaded = [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(file.as_uri())
    for tab, ready in VIEWS.items():
        page.get_by_role("button", name=tab, exact=True).click()
        expect(page.locator(ready).first).to_be_visible()
        expect(page.locator(".notice.error")).to_have_count(0)
    expect(page.locator(".timeline-canvas[data-whole]")).to_be_visible()
    page.locator(".timeline-canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".timeline-said")).to_contain_text("event")
    page.get_by_role("button", name="Guide", exact=True).click()
    page.locator(".guide .choice", has_text="regression").click()
    for _ in range(3):
        page.locator(".guide .choice").first.click()
    expect(page.locator(".guide .found > li")).to_have_count(4)
    page.close()
    assert problems == []
    assert {url for url in loaded if not url.startswith(("blob:", "data:"))} == {file.as_uri()}


VIEWS = {
    "Why": "g.node",
    "Critical path": ".segments tbody tr",
    "Functions": "g.node",
    "Requests": ".flow svg, g.node",
    "Suspects": ".suspects, .view table",
    "Patterns": ".view svg, .view table",
    "Aggregate": "g.node",
    "Guide": ".guide .choice",
    "Entities": "canvas.front[data-still]",
    "Timeline": ".timeline-canvas",
}
"""Tabs, each with an element that is visible once its answer has arrived."""
