"""Proposals for misspelt patterns are searched in bounded time; a repeated check equals an unbounded search."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from clew.esl import SourceIndex, check
from clew.esl.syntax.problem import likely

WORDS = st.text("abcde.", max_size=12)


@given(WORDS, st.lists(WORDS, max_size=12), st.sampled_from([0.0, 0.5, 0.7, 1.0]))
def test_likely_names_include_every_close_match(word: str, names: list[str], cutoff: float) -> None:
    assert difflib.get_close_matches(word, list(likely(word, names, cutoff)), 3, cutoff) == (
        difflib.get_close_matches(word, names, 3, cutoff)
    )


def messages(workspace: Path, index: SourceIndex, text: str, patience: float) -> tuple[list[str], bool]:
    checked = check(workspace / "a.esl", workspace, text=text, index=index, time_limit=patience)
    return [problem.message for problem in checked.problems], checked.postponed


def test_proposals_after_the_deadline_are_given_at_the_next_check(workspace: Callable[..., Path]) -> None:
    root = workspace({"shop/__init__.py": "", "shop/app.py": "def order(): pass\ndef refund(): pass\n"})
    index = SourceIndex(root)
    text = "include standard;\nscope shop.app:ordr;\nscope shop.** except shop.app:refnd;\n"
    vague = [
        f"no function of {root.name} matches `shop.app:{name}`; check the names" for name in ("ordr", "refnd")
    ]  # fmt: skip
    full = [
        f"no function matches `shop.app:{a}`; did you mean `shop.app:{b}`?"
        for a, b in (("ordr", "order"), ("refnd", "refund"))
    ]
    assert messages(root, index, text, 0.0) == (vague, True)
    assert messages(root, index, text, 1e9) == (full, False)
    assert messages(root, index, text, 0.0) == (full, False)

    # After a rename, earlier proposals that are still valid remain.
    index.overlay(root / "shop/app.py", "def order(): pass\ndef refunded(): pass\n")
    assert messages(root, index, text, 0.0) == ([full[0], vague[1]], True)
    assert messages(root, index, text, 1e9)[0][1].endswith("did you mean `shop.app:refunded`?")

    # A new file removes no proposal.
    index.overlay(root / "shop/more.py", "def more(): pass\n")
    assert messages(root, index, text, 0.0)[0][0] == full[0]
