"""Hovers in specs: which functions a pattern means and what they gave in the last run, where a name is given, and the
language's own help about its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.server import rule_figures

if TYPE_CHECKING:
    from clew.server.features.esl.spec_text import SpecText
    from clew.server.session import Task
    from clew.server.specs import Specs


def hover(specs: Specs, spec: SpecText, offset: int, task: Task) -> tuple[str, tuple[int, int]]:
    """Markdown, and the part of the text that it is about; "" where there is nothing to say."""
    from clew.esl import about
    from clew.esl.matcher import meant_by
    from clew.esl.packs import known
    from clew.esl.parser import parse
    from clew.esl.place import word_at

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
        figures = specs.figures(task) if functions else None
        if figures is not None:
            text += f"\n\n{rule_figures.about(figures.of(functions), figures.name)}"
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
