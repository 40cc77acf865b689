"""Specs in a real VS Code: what is said above and behind rules, completion, definitions, quick fixes and formatting."""

from __future__ import annotations

import re


def test_rules_say_what_they_match_and_lead_to_it(editor, expect):
    text = (editor.recorded.folder / "chunkstore.esl").read_text()
    line = next(n for n, row in enumerate(text.splitlines(), 1) if row.startswith("define"))
    editor.open("chunkstore.esl", line, text.splitlines()[line - 1].index("mark_deleted") + 1)
    lens = editor.page.locator(".codelens-decoration", has_text=re.compile(r"matches 1 function · .* in last run"))
    expect(lens.first).to_be_visible()
    editor.photograph("spec")
    editor.focus_text()
    editor.page.keyboard.press("F12")
    function = editor.recorded.line_of("chunkstore/index.py", "def mark_deleted")
    editor.wait_for_cursor("index.py", function)
    editor.open("chunkstore/index.py", 1)
    editor.open("chunkstore.esl", line)
    own = editor.page.locator(".codelens-decoration a", has_text="no events in last run")
    own.last.click()
    editor.wait_for_cursor("index.py", function)


def test_a_rule_is_completed_mended_and_formatted(editor, expect):
    editor.open("chunkstore.esl", 1)
    editor.focus_text()
    editor.page.keyboard.press("Control+End")
    editor.page.keyboard.type("\nscope   chunkstore.wi", delay=20)
    editor.page.keyboard.press("Control+Space")
    proposal = editor.page.locator(".suggest-widget .monaco-list-row", has_text="chunkstore.wire")
    expect(proposal.first).to_be_visible()
    editor.photograph("spec-completion", hovering=True)
    editor.page.keyboard.press("Enter")
    expect(editor.page.locator(".view-line", has_text=re.compile("scope\\s+chunkstore.wire"))).to_be_visible()
    # The `;` is missing, and the quick fix puts it there.
    expect(editor.page.locator(".squiggly-error").first).to_be_attached()
    editor.command("Fix All")
    expect(editor.page.locator(".view-line", has_text=re.compile("scope\\s+chunkstore.wire;"))).to_be_visible()
    editor.command("Format Document")
    expect(editor.page.locator(".view-line", has_text=re.compile("^scope.chunkstore.wire;$"))).to_be_visible()
