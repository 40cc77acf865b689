"""Hovers in specs: the functions of a pattern and their statistics in the last run, the declaration of a name, and the
language's help on its keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.server.functions import rule_statistics

if TYPE_CHECKING:
    from clew.server.lsp.features.esl.spec_text import SpecText
    from clew.server.session.session import Task
    from clew.server.session.specs import Specs


def hover(specs: Specs, spec: SpecText, offset: int, task: Task) -> tuple[str, tuple[int, int]]:
    """Return Markdown and the range of the text that it describes; "" without a hover."""
    from clew.esl.assist import hover as about
    from clew.esl.assist.cursor_context import word_at
    from clew.esl.index.match import meant_by
    from clew.esl.packs.registry import known
    from clew.esl.syntax.parser import parse

    tree = parse(spec.text).tree
    root = str(specs.workspace)
    everywhere = [(path, each) for path, _, names in specs.names(spec.path, spec.text) for each in names]
    name = about.name_at((each for path, each in everywhere if path == spec.path), offset)
    if name is not None:
        return about.about_name(name, everywhere), (name.span.start, name.span.end)
    meant = about.pattern_at(tree, offset, root)
    if meant is not None:
        functions, doubts = specs.with_index(lambda index: meant_by(meant.rule, index))
        text = about.about_functions(meant, functions, doubts)
        statistics = specs.rule_statistics(task) if functions else None
        if statistics is not None:
            text += f"\n\n{rule_statistics.about(statistics.of(functions), statistics.name)}"
        return text, (meant.span.start, meant.span.end)
    pack = about.pack_at(tree, offset)
    if pack in known():
        return about.about_pack(pack), word_at(spec.text, offset)
    text, start, end = about.about_word(spec.text, offset)
    if not text:
        start, end = word_at(spec.text, offset)
        around = [each for each in about.patterns_of(tree, root) if each.role == "rule"]
        rule = next((each for each in around if each.statement.start <= offset <= each.statement.end), None)
        if rule is not None and start < end:
            text = about.about_parameter(spec.text[start:end], specs.functions_of(rule.rule))
    return text, (start, end)
