"""Find and describe the element at a place of a spec: patterns with their functions, names with their declarations, and
keywords."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clew.esl.assist.completion import signature
from clew.esl.assist.cursor_context import place_at, surely_before, word_at
from clew.esl.assist.keyword_help import help_of
from clew.esl.assist.references import Occurrence
from clew.esl.assist.semantic_tokens import tokens_of
from clew.esl.index.declarations import FunctionInfo
from clew.esl.lower.lower import method_pattern, target_of
from clew.esl.lower.resolve import mean, parameters_of
from clew.esl.packs import registry
from clew.esl.syntax.ast import Act, Entity, EntityEvent, Include, LevelMap, Pattern, Scope, Spec
from clew.esl.syntax.keywords import EVENTS
from clew.esl.syntax.span import Span
from clew.records.plan.plan import Rule

_LONGEST = 40
"""Maximum length of the rest of a keyword of several words."""
NAMED = 5
"""Maximum number of functions or places listed; the rest is counted."""

Role = Literal["rule", "except", "label", "class"]


@dataclass(frozen=True)
class Meant:
    """A pattern in its context: for an entity's line the class and method, for a class all its methods."""

    pattern: Pattern
    span: Span
    rule: Rule
    role: Role
    title: str
    """Words of the statement before the pattern: `send finish`."""
    statement: Span
    node: Act | EntityEvent | None = None
    """The node with values that refer to parameters."""


def patterns_of(spec: Spec, root: str = "") -> Iterator[Meant]:
    """Yield every pattern of a spec in context, in order."""
    yield from _patterns(mean(spec).spec, root)


def _patterns(spec: Spec, root: str) -> Iterator[Meant]:
    for statement in spec.statements:
        span = statement.span
        match statement:
            case Scope():
                excepts = tuple(target_of(pattern) for pattern in statement.excepts)
                for pattern in statement.patterns:
                    rule = Rule(target_of(pattern, root), excepts)
                    yield Meant(pattern, pattern.span, rule, "rule", "scope", span)
                for pattern in statement.excepts:
                    yield Meant(pattern, pattern.span, Rule(target_of(pattern)), "except", "except", span)
            case Act(pattern=pattern):
                title = " ".join((statement.verb.text, *(word.text for word in statement.modifiers)))
                yield Meant(pattern, pattern.span, Rule(target_of(pattern, root)), "rule", title, span, statement)
            case LevelMap():
                for label in statement.labels:
                    title = f"{statement.name.text}: {label.name.text}"
                    yield Meant(label.pattern, label.pattern.span, Rule(target_of(label.pattern)), "label", title, span)
            case Entity():
                yield from _of_entity(statement, root)


def _of_entity(entity: Entity, root: str) -> Iterator[Meant]:
    target = entity.target
    methods = Pattern(target.span, target.module, f"{target.qualname}.**" if target.qualname else None)
    rule = Rule(target_of(methods, root))
    yield Meant(methods, target.span, rule, "class", f"entity {entity.name.text}", entity.span)
    for event in entity.members:
        if isinstance(event, EntityEvent):
            pattern = method_pattern(entity, event)
            rule = Rule(target_of(pattern, root))
            yield Meant(pattern, pattern.span, rule, "rule", f"when {event.moment.text}", event.span, event)


def pattern_at(spec: Spec, offset: int, root: str = "") -> Meant | None:
    # The meaning of blocks can depend on other statements, their places do not.
    found = _patterns(mean(spec).spec.around(offset), root)
    return next((each for each in found if each.span.start <= offset <= each.span.end), None)


def rules_at(spec: Spec, offset: int, root: str = "") -> list[Meant]:
    """Return the patterns of the statement or entity line whose leading words contain the offset."""
    found = [each for each in _patterns(mean(spec).spec.around(offset), root) if each.role in ("rule", "label")]
    found = [each for each in found if each.statement.start <= offset <= each.statement.end]
    return found if all(offset < each.span.start for each in found) else []


def pack_at(spec: Spec, offset: int) -> str:
    """Return the name of the pack that an `include` has at the offset, or ""."""
    words = [word for each in spec.around(offset).statements if isinstance(each, Include) for word in each.packs]
    return next((word.text for word in words if word.span.start <= offset <= word.span.end), "")


def about_pack(name: str) -> str:
    """Describe a pack in Markdown: its content, parameters and cost."""
    cost = registry.costs().get(name)
    rows = [f"pack `{name}`: {registry.about(name)}"]
    rows += [f"- `{each}` (default `{value!r}`)" for each, value in parameters_of(name).items()]
    rows += (
        [f"- {cost['operation']}: {cost['us']:g} µs without the pack, {cost['added']:g} µs more with it"]
        if cost is not None
        else []
    )
    return "\n".join(rows)


def name_at(names: Iterable[Occurrence], offset: int) -> Occurrence | None:
    return next((each for each in names if each.written and each.span.start <= offset <= each.span.end), None)


def about_functions(meant: Meant, functions: tuple[FunctionInfo, ...], doubts: tuple[str, ...] = ()) -> str:
    """Describe functions in Markdown: their number, and links to the first ones. `doubts` has the reason for each
    function that is known only at run time, or ""."""
    what = {"class": "methods", "except": "functions left out", "label": "functions with this label"}.get(
        meant.role, "functions"
    )
    if not functions:
        return f"`{meant.pattern.full_text}` matches no function of the workspace"
    files = {function.file for function in functions}
    head = f"**{_count(len(functions), what)}**" + (f" in {_count(len(files), 'files')}" if len(files) > 1 else "")
    unsure = sum(map(bool, doubts))
    head += f", {unsure:,} of them known only at run time" if unsure else ""
    reasons = dict(zip(functions, doubts, strict=False))
    rows = [
        f"- {link(function)} `{signature(function)}`"
        + (f", at run time: {reason}" if (reason := reasons.get(function)) else "")
        for function in functions[:NAMED]
    ]
    if len(functions) > NAMED:
        rows.append(f"- … and {len(functions) - NAMED:,} more")
    return "\n".join([f"`{meant.title} {meant.pattern.full_text}`: {head}", "", *rows])


def link(function: FunctionInfo) -> str:
    return f"[{function.label}]({Path(function.file).as_uri()}#L{function.line})"


def about_name(name: Occurrence, everywhere: Iterable[tuple[str, Occurrence]]) -> str:
    """Describe the other occurrences of a name in Markdown; `everywhere` has the paths and names of all specs."""
    same = [(path, each) for path, each in everywhere if each.meaning == name.meaning]
    verbs: dict[str, int] = {}
    for _, each in same:
        verbs[each.verb or ("given" if each.given else "used")] = (
            verbs.get(each.verb or ("given" if each.given else "used"), 0) + 1
        )
    counted = ", ".join(f"{count} × `{verb}`" if name.verb else f"{verb} {count} ×" for verb, count in verbs.items())
    whose = Path(name.owner).name if name.kind == "parameter" else name.owner
    owner = f" of `{whose}`" if whose else ""
    rows = [
        f"- [{Path(path).name}:{each.span.line}]({Path(path).absolute().as_uri()}#L{each.span.line})"
        for path, each in same[:NAMED]
    ]
    if len(same) > NAMED:
        rows.append(f"- … and {len(same) - NAMED:,} more")
    return "\n".join([f"{name.kind} `{name.name}`{owner}: {counted}", "", *rows])


def about_word(text: str, offset: int) -> tuple[str, int, int]:
    """Return the reference text about a keyword or known word and its place, or "" for any other word."""
    start, end = word_at(text, offset)
    # A keyword can have several words: `decorated by`.
    begin = surely_before(text, start)
    tokens = tokens_of(text[begin : end + _LONGEST], start - begin, end - begin)
    whole = next((each for each in tokens if each[2] == "keyword" and each[0] <= start - begin < each[1]), None)
    if whole is not None:
        start, end = begin + whole[0], begin + whole[1]
    word = text[start:end].partition(" ")[0]
    if not word:
        return "", start, end
    place = place_at(text, start)
    keywords = [each for each in place.words if each.split(" ")[0] == word]
    statement = "entity" if place.member else place.keyword
    if keywords:
        in_value = bool({"COMPARE", "_UNSAFE"} & place.accepted)
        several = " ".join(text[start:end].split())
        for one in (several, word) if several in keywords else (word,):
            if found := help_of(one, statement or word, in_value=in_value):
                return found, start, end
        return "", start, end
    if "_UNSAFE" in place.accepted and (text[end : end + 1] == "(" or word in ("this", "result", "exception")):
        return help_of(word, statement, in_value=True), start, end
    if place.member and word in EVENTS:
        return help_of(word, statement), start, end
    return "", start, end


def about_parameter(word: str, functions: tuple[FunctionInfo, ...]) -> str:
    """Describe a parameter in Markdown: the rule's functions that have it, and their annotations."""
    having = [function for function in functions if word in function.parameters]
    if not having:
        return ""
    types = {function.types[function.parameters.index(word)] for function in having} - {""}
    shown = f"`{word}: {next(iter(types))}`" if len(types) == 1 else f"`{word}`"
    if len(functions) == 1:
        return f"{shown}: a parameter of {link(having[0])}"
    return f"{shown}: a parameter of {len(having)} of the {_count(len(functions), 'functions')}"


def _count(number: int, what: str) -> str:
    return (
        f"{number:,} {what}"
        if number != 1
        else f"1 {what.replace('functions', 'function').replace('methods', 'method')}"
    )
