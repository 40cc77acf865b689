"""Lenses above each rule of a spec: the number of matching functions and their statistics in the last run. Hints after
patterns that share a statement: the number of matches of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.server.lsp.features.esl.spec_text import SpecText
from clew.server.protocol.codec import encode
from clew.server.protocol.recording import RecordableParams
from clew.server.text import units

if TYPE_CHECKING:
    from clew.esl.index.declarations import FunctionInfo
    from clew.esl.index.match import RuleMatch
    from clew.server.functions.rule_statistics import RuleStatistics
    from clew.server.session.session import Task
    from clew.server.session.specs import Specs

SHOW = "clew.showFunctions"


def lenses(specs: Specs, spec: SpecText, task: Task, *, record: bool) -> list[types.CodeLens]:
    checked = specs.checked(spec.path, spec.text)
    statistics = specs.rule_statistics(task)
    by_statement: dict[int, list[RuleMatch]] = {}
    for each in checked.matches:
        by_statement.setdefault(each.rule.span.start, []).append(each)
    made = []
    for start, matches in sorted(by_statement.items()):
        functions = list(dict.fromkeys(function for each in matches for function in each.functions))
        at = spec.position(start)
        command = types.Command(title(functions, statistics), "")
        if functions:
            command.command, command.arguments = SHOW, [spec.uri, {"line": at.line, "character": at.character}]
        made.append(types.CodeLens(types.Range(at, at), command))
    if made and record:
        params = RecordableParams(spec=spec.path)
        made.insert(
            1, types.CodeLens(made[0].range, types.Command("record", "clew.record", arguments=[encode(params)]))
        )
    return made


def title(functions: list[FunctionInfo], statistics: RuleStatistics | None) -> str:
    """Return the title: `matches 37 functions · 1.2 M events in last run`."""
    parts = [f"matches {units.count(len(functions), 'function')}" if functions else "matches no function"]
    if statistics is not None and functions:
        events = statistics.of(functions).events
        shown = units.roughly(events) + (" event" if events == 1 else " events") if events else "no events"
        parts.append(f"{shown} in last run")
    return " · ".join(parts)


def hints(specs: Specs, spec: SpecText, place: types.Range) -> list[types.InlayHint]:
    """Return hints after the patterns of lists and of entities' lines. A rule with one pattern has its lens instead."""
    from clew.esl.assist.hover import patterns_of

    checked = specs.checked(spec.path, spec.text)
    first, last = spec.offset(place.start), spec.offset(place.end)
    found = [each for each in patterns_of(checked.tree, str(specs.workspace)) if each.role != "except"]
    siblings: dict[int, int] = {}
    for each in found:
        siblings[each.statement.start] = siblings.get(each.statement.start, 0) + 1
    made = []
    for each in found:
        shared = siblings[each.statement.start] > 1 or each.role in ("class", "label")
        if shared and first <= each.span.end <= last:
            number = len(specs.functions_of(each.rule))
            made.append(
                types.InlayHint(
                    spec.position(each.span.end),
                    str(number),
                    tooltip=f"{each.pattern.text} matches {units.count(number, 'function')}",
                    padding_left=True,
                )
            )
    return made
