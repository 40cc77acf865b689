"""A live run watched in the real editor: entities move, pause and step back, and the finished run is shown afterwards."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.editor.actors import CLASSES, spec_of

WATCH_ITEM = '.statusbar-item[id="clew.clew.watch"]'

STAGE = (
    CLASSES
    + """\
def play():
    theaters = [Theater(name) for name in ("globe", "rose", "swan")]
    actors = [Actor(f"actor {number}", theaters[number % 3]) for number in range(9)]
    for turn in itertools.count():
        if pathlib.Path("curtain").exists():
            return
        one, other = actors[turn % 9], actors[turn * 5 % 9]
        one.tell(other)
        if turn % 40 == 0:
            one.move(theaters[turn // 40 % 3])
        time.sleep(0.02)


play()
"""
)

SPEC = spec_of("stage") + "scope stage:play;\n"


@pytest.fixture
def stage(recorded):
    """Record a program; it ends when the file `curtain` appears."""
    folder = recorded.folder
    (folder / "stage.py").write_text(STAGE)
    (folder / "stage.esl").write_text(SPEC)
    curtain = folder / "curtain"
    curtain.unlink(missing_ok=True)
    command = [sys.executable, "-m", "clew", "run", "-q", "--budget", "none", "--spec", "stage.esl", "--name", "stage"]
    program = subprocess.Popen(
        [*command, "--", sys.executable, "stage.py"], cwd=folder, env=os.environ, stderr=subprocess.DEVNULL
    )
    yield program, curtain
    curtain.touch()
    program.wait(60)
    for name in ("stage.py", "stage.esl", "curtain"):
        (folder / name).unlink(missing_ok=True)


def test_watch_command_shows_a_live_run_that_can_be_paused_and_finishes(editor, expect, stage):
    program, curtain = stage
    page, panel = editor.page, editor.panel
    editor.open("stage.py", 1)
    count = page.locator(".codelens-decoration", has_text="● ").filter(has_text="calls so far").first
    expect(count).to_be_visible()
    editor.command("Clew: Watch")
    expect(page.locator(WATCH_ITEM)).to_contain_text("● watching stage, ")
    at = panel.locator(".entity-bar .at .muted")
    expect(panel.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "true")

    def moment():
        return int(at.inner_text().split("·")[1].split(" of ")[0].replace(",", ""))

    def moves(before):
        expect(at).not_to_have_text(before)

    for _ in range(3):  # it continues by itself
        moves(at.inner_text())
    editor.photograph("watch-live")
    # An entity leads to its code.
    panel.locator(".entity-rows").get_by_role("button", name="actor 4").click()
    panel.locator(".entity-card .ways .place").first.click()
    expect(page.locator(".line-numbers.active-line-number")).to_have_text(re.compile("^(16|19)$"))
    # A walk starts at its last event, in a snapshot of the run.
    panel.locator(".entity-card").get_by_role("button", name="Walk from here").click()
    expect(panel.locator(".walk-card h2")).to_contain_text(re.compile("Actor.(move|tell)"))
    expect(panel.locator(".walk-card .numbers")).to_contain_text("event ")
    editor.photograph("watch-walk")
    assert program.poll() is None
    panel.locator("nav.tabs").get_by_role("button", name="Entities").click()
    expect(panel.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "true")
    moves(at.inner_text())
    # The view is paused while the program runs; it steps back, and to the beginning.
    panel.locator(".entity-bar button.play").click()
    expect(panel.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "false")
    stopped = moment()
    panel.get_by_role("button", name="One event back (←)").click()
    expect(at).to_contain_text(f"{stopped - 1:,} of ")
    panel.get_by_role("slider", name="Time").fill("0")
    expect(at).not_to_contain_text(f"{stopped - 1:,} of ")
    assert moment() < stopped - 1 and program.poll() is None
    panel.get_by_role("button", name="Live").click()
    moves(at.inner_text())
    # At the end the same panel shows the finished run.
    before = moment()
    curtain.touch()
    expect(page.locator(WATCH_ITEM)).to_have_count(0)
    expect(panel.get_by_role("button", name="Live")).to_have_count(0)
    assert moment() >= before
    expect(page.locator(".codelens-decoration", has_text="● ")).to_have_count(0)
    editor.photograph("watch-over")
